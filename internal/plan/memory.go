package plan

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// defaultCPUs is cpu_count if the container has no CPU resources: every node has as many. Oracle's own default is the
	// CPUs of the node.
	defaultCPUs = 2
	// freeCPUs is the number of cores that Oracle Free and Express use at most.
	freeCPUs = 2
	// cachePerCPU is the smallest buffer cache for each CPU (Oracle Database Reference 12.1 and later,
	// DB_CACHE_SIZE). Oracle raises a smaller value.
	cachePerCPU = int64(4 * mebibyte)
	// otherProcesses allows for the background processes of an instance and the sessions of nfsbench; leastProcesses is
	// the smallest default of the images for all processes.
	otherProcesses = 100
	leastProcesses = 200
)

// isLimited reports whether the edition itself limits CPU and memory.
func isLimited(c *v1alpha1.DatabaseContainer) bool {
	return c.Edition == v1alpha1.EditionFree || c.Edition == v1alpha1.EditionExpress
}

// cpus returns the number of CPUs for cpu_count, and the limit of an instance in thousandths of a core; 0 = all CPUs of
// the node.
func cpus(c *v1alpha1.DatabaseContainer) (count, mostMillis int64) {
	count = defaultCPUs
	if r := c.Resources; r != nil {
		if cpu, ok := r.Requests[corev1.ResourceCPU]; ok && !cpu.IsZero() {
			count = (cpu.MilliValue() + 999) / 1000
		}
		if cpu, ok := r.Limits[corev1.ResourceCPU]; ok && !cpu.IsZero() {
			mostMillis = cpu.MilliValue()
			count = (mostMillis + 999) / 1000
		}
	}
	if isLimited(c) {
		count = min(count, freeCPUs)
		if mostMillis == 0 || mostMillis > freeCPUs*1000 {
			mostMillis = freeCPUs * 1000
		}
	}
	return count, mostMillis
}

// sessions returns the most sessions that a load opens.
func sessions(w bench.Workload) int64 {
	if w.SLOB == nil {
		return 0
	}
	return int64(slices.Max(w.SLOB.Ramp()))
}

// checkInstance rejects parameters with which Oracle would not start, or that Oracle would replace.
func checkInstance(b *v1alpha1.NFSBenchmark, parameters map[string]string) error {
	c := Container(b)
	if regexp.MustCompile(`:1[18]\.\d+\.[0-9.]*-xe`).MatchString(c.Image) {
		return fmt.Errorf("database.container.image: %s is made to run as root, and databases run as the user oracle "+
			"(54321): use express:21.3.0-xe, or an image of Oracle Free", c.Image)
	}
	value := func(name string) int64 {
		n, _ := runfile.ParameterBytes(parameters[name])
		return n
	}
	const field = "database.container.parameters"
	sga := max(value("sga_target"), value("sga_max_size"))
	granule := granuleOf(sga)
	cpus := max(value("cpu_count"), 1)
	least := whole(cachePerCPU*cpus, granule)
	cache := value("db_cache_size")
	if cache > 0 && cache < cachePerCPU*cpus {
		return fmt.Errorf("%s: db_cache_size is %s, and Oracle raises it to its minimum, 4M x cpu_count %d = %s: raise it, "+
			"or lower cpu_count to %d", field, megabytes(cache), cpus, megabytes(cachePerCPU*cpus), max(cache/cachePerCPU, 1))
	}
	cache = max(whole(cache, granule), least)
	shared, large := whole(value("shared_pool_size"), granule), whole(value("large_pool_size"), granule)
	other := whole(value("java_pool_size"), granule) + whole(value("streams_pool_size"), granule)
	if needed, target := cache+shared+large+other+granule, value("sga_target"); target > 0 && target < needed {
		return fmt.Errorf("%s: sga_target is %s, with which Oracle does not start (ORA-00821): buffer cache %s (at least 4M "+
			"x cpu_count %d) + shared pool %s + large pool %s + other pools %s + one granule %s = %s: raise it, or lower its "+
			"parts", field, megabytes(target), megabytes(cache), cpus, megabytes(shared), megabytes(large), megabytes(other),
			megabytes(granule), megabytes(needed))
	}
	pga, huge := value("pga_aggregate_target"), int64(0)
	if !strings.EqualFold(parameters["use_large_pages"], "false") {
		huge = min(sga, InstanceOf(c).HugePagesBytes)
	}
	if limit := memoryLimit(c); limit > 0 && sga-huge+pga > limit {
		less := ""
		if huge > 0 {
			less = " - huge pages " + megabytes(huge)
		}
		return fmt.Errorf("%s: SGA %s%s + pga_aggregate_target %s = %s do not fit into the memory of the container, %s: "+
			"lower them, or raise database.container.resources.limits.memory", field, megabytes(sga), less, megabytes(pga),
			megabytes(sga-huge+pga), megabytes(limit))
	}
	n := sessions(b.Spec.Workload)
	if p := value("processes"); p > 0 && p < n+otherProcesses {
		return fmt.Errorf("%s: processes is %d, and the load needs %d: %d sessions of its users + %d for background "+
			"processes and the sessions of nfsbench: raise it, or lower workload.slob.users", field, p, n+otherProcesses, n,
			otherProcesses)
	}
	return nil
}

// memoryLimit returns the memory limit of the container; 0 = none.
func memoryLimit(c *v1alpha1.DatabaseContainer) int64 {
	if c.Resources == nil {
		return 0
	}
	return c.Resources.Limits.Memory().Value()
}

// hugePages returns the size of the container's huge pages. They do not count as its memory, and Oracle uses them for
// the SGA only.
func hugePages(c *v1alpha1.DatabaseContainer) int64 {
	sum := int64(0)
	if c.Resources != nil {
		for name, size := range c.Resources.Limits {
			if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				sum += min(max(size.Value(), 0), math.MaxInt64-sum)
			}
		}
	}
	return sum
}

// granuleOf returns the allocation unit of an SGA (Oracle Database Administrator's Guide, "Granules").
func granuleOf(sga int64) int64 {
	const gibibyte = 1 << 30
	granule := int64(16 * mebibyte)
	if sga <= gibibyte {
		return granule / 4
	}
	for most := int64(8 * gibibyte); sga > most && granule < 512*mebibyte; most *= 2 {
		granule *= 2
	}
	return granule
}

// whole rounds up to granules.
func whole(n, granule int64) int64 { return (n + granule - 1) / granule * granule }

func megabytes(n int64) string { return strconv.FormatInt(n/mebibyte, 10) + "M" }
