package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// parameters are the init parameters: what the instance runs with, and what the
// server parameter file says, which counts from the next start.
type parameters struct {
	file string

	mu      sync.Mutex
	spfile  map[string]string
	running map[string]string
}

// defaultParameters are those that the stand-in knows, with Oracle Free's
// defaults. Others are ORA-02065, hidden ones excepted.
func defaultParameters() map[string]string {
	return map[string]string{
		"audit_trail": "NONE", "control_management_pack_access": "DIAGNOSTIC+TUNING", "cpu_count": "2",
		"db_block_checking": "FALSE", "db_block_checksum": "TYPICAL", "db_lost_write_protect": "NONE",
		"db_writer_processes": "1", "resource_manager_plan": "",
		"db_block_size": "8192", "db_cache_size": "0", "db_file_multiblock_read_count": "128", "db_name": DefaultSID,
		"disk_asynch_io": "TRUE", "dnfs_batch_size": "4096", "enable_dnfs_dispatcher": "FALSE", "filesystemio_options": "none",
		"job_queue_processes": "1", "large_pool_size": "0", "log_buffer": "8388608", "memory_target": "0",
		"parallel_max_servers": "20", "pga_aggregate_target": "536870912", "pre_page_sga": "TRUE", "processes": "200",
		"recyclebin": "on", "sga_max_size": "1610612736", "sga_target": "1610612736", "shared_pool_size": "0",
		"statistics_level": "TYPICAL", "timed_statistics": "TRUE", "use_large_pages": "FALSE",
	}
}

// loadParameters reads the server parameter file; there is none before the first
// start.
func loadParameters(file string, cpus int) (*parameters, error) {
	p := &parameters{file: file, spfile: map[string]string{}, running: defaultParameters()}
	p.running["cpu_count"] = strconv.Itoa(cpus)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "*."), "="); ok {
			p.spfile[name] = value
		}
	}
	maps.Copy(p.running, p.spfile)
	return p, nil
}

func (p *parameters) set(name, value string) error {
	name = strings.ToLower(name)
	if err := check(name, value); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spfile[name] = normal(value)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.spfile)) {
		fmt.Fprintf(&text, "*.%s=%s\n", name, p.spfile[name])
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(p.file+".new", []byte(text.String()), 0o640); err != nil {
		return err
	}
	return os.Rename(p.file+".new", p.file)
}

const (
	smallGranule = int64(4 << 20)
	largeGranule = int64(16 << 20) // of an SGA of more than 1 GiB
	cachePerCPU  = int64(4 << 20)
	sharedMemory = int64(1 << 40) // that the kernel gives to all (kernel.shmall)
)

// size applies what an instance finds out of its memory when it starts. The buffer cache has 4 MB
// for each CPU at least, and a smaller value is raised to that; parts of the SGA are whole
// granules; an SGA that its parts do not fit into is ORA-00821; and one that the kernel does not give is ORA-27102.
func (p *parameters) size() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := func(name string) int64 { n, _ := size(p.running[name]); return n }
	if _, set := p.spfile["sga_max_size"]; !set {
		p.running["sga_max_size"] = p.running["sga_target"]
	}
	target := value("sga_target")
	if max(target, value("sga_max_size")) > sharedMemory {
		return ora(27102, "out of memory\nLinux-x86_64 Error: 28: No space left on device\nAdditional information: 4278")
	}
	granule := smallGranule
	if max(target, value("sga_max_size")) > 1<<30 {
		granule = largeGranule
	}
	whole := func(n int64) int64 { return (n + granule - 1) / granule * granule }
	cache := whole(max(value("db_cache_size"), cachePerCPU*value("cpu_count")))
	if value("db_cache_size") > 0 {
		p.running["db_cache_size"] = strconv.FormatInt(cache, 10)
	}
	needed := cache + whole(value("shared_pool_size")) + whole(value("large_pool_size")) + granule
	if target > 0 && target < needed {
		return ora(821, "Specified value of sga_target %dM is too small, needs to be at least %dM\n"+
			"ORA-01078: failure in processing system parameters", target>>20, needed>>20)
	}
	return nil
}

// check refuses what ALTER SYSTEM refuses at once. Much else Oracle finds out
// only when it starts.
func check(name, value string) error {
	was, known := defaultParameters()[name]
	if !known && !strings.HasPrefix(name, "_") {
		return ora(2065, "illegal option for ALTER SYSTEM")
	}
	if _, err := strconv.ParseInt(was, 10, 64); known && err == nil {
		if _, err := size(value); err != nil {
			return ora(2017, "integer value required for parameter %s", name)
		}
	}
	return nil
}

// normal is how V$PARAMETER shows a value: sizes in bytes.
func normal(value string) string {
	if n, err := size(value); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return value
}

func size(s string) (int64, error) {
	shift := 0
	if s != "" {
		if i := strings.IndexByte("KMGT", s[len(s)-1]&^0x20); i >= 0 {
			shift, s = 10*(i+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n << shift, err
}

// get is the value that the instance runs with, in lower case.
func (p *parameters) get(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ToLower(p.running[name])
}

// rows are V$PARAMETER: hidden ones have a row only where they were set.
func (p *parameters) rows() []row {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(p.running)) {
		isDefault := "TRUE"
		if _, set := p.spfile[name]; set {
			isDefault = "FALSE"
		}
		rows = append(rows, row{"inst_id": int64(1), "name": name, "value": p.running[name], "isdefault": isDefault, "display_value": p.running[name]})
	}
	return rows
}
