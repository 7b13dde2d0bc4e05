package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadFlags declare a benchmark with a raw load. What is not given is left to
// the defaults of the API.
type loadFlags struct {
	export, claim, embedded              string
	client, nfsVersion, paths, link      string
	pattern, blockSize, fileSize         string
	jobs, depth, clients, repetitions    int32
	duration, warmup, baseline, cooldown time.Duration
}

func (f *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.export, "export", "", "an NFS export, SERVER[,SERVER...]:/PATH; one path for each address")
	fs.StringVar(&f.export, "storage-export", "", "the same as --export")
	_ = fs.MarkHidden("storage-export") // it was defined in the line before
	fs.StringVar(&f.claim, "claim", "", "a PersistentVolumeClaim")
	fs.StringVar(&f.embedded, "embedded", "", "size of an NFS server of the operator's own, such as 2Gi: to try, not to measure storage")
	fs.StringVar(&f.client, "client", "", "who speaks NFS: DirectNFS or Kernel (default DirectNFS)")
	fs.StringVar(&f.nfsVersion, "version-nfs", "", "version of NFS: NFSv3, NFSv4.0, NFSv4.1 or pNFS (default NFSv3)")
	fs.StringVar(&f.paths, "paths", "", "All, Local, Remote or addresses of the export to use, such as 192.0.2.11,198.51.100.11; with --embedded how many (default all)")
	fs.StringVar(&f.link, "link", "", "network link of each path, RATE[:MTU], such as 10G:9000 (default: as the interface says)")
	fs.StringVar(&f.pattern, "pattern", "", "Read, Overwrite, Copy, RandomRead or RandomWrite (default Read)")
	fs.StringVar(&f.blockSize, "block-size", "", "bytes of each I/O, such as 1Mi (default 1Mi; 8Ki if random)")
	fs.StringVar(&f.fileSize, "file-size", "", "bytes of each job's file, such as 8Gi (default 1Gi)")
	fs.Int32Var(&f.jobs, "jobs", 0, "independent streams of each client (default 4)")
	fs.Int32Var(&f.depth, "depth", 0, "outstanding I/Os of each job (default 8)")
	fs.Int32Var(&f.clients, "clients", 0, "pods that load together (default 1)")
	fs.DurationVar(&f.duration, "duration", 0, "measured window (default 60s)")
	fs.DurationVar(&f.warmup, "warmup", 0, "load before the window, not counted (default 10s)")
	fs.DurationVar(&f.baseline, "baseline", 0, "idle time before that, to see what others do (default 5s)")
	fs.DurationVar(&f.cooldown, "cooldown", 0, "idle time between repetitions (default 5s)")
	fs.Int32Var(&f.repetitions, "repetitions", 0, "how often to measure; comparisons want ten (default 1)")
	completeValues(cmd, "client", clients()...)
	completeValues(cmd, "version-nfs", versions()...)
	completeValues(cmd, "pattern", patterns()...)
}

func clients() []string {
	return []string{string(v1alpha1.ClientDirectNFS), string(v1alpha1.ClientKernel)}
}

func versions() []string {
	return []string{string(v1alpha1.NFSv3), string(v1alpha1.NFSv40), string(v1alpha1.NFSv41), string(v1alpha1.PNFS)}
}

func patterns() []string {
	return []string{
		string(v1alpha1.PatternRead), string(v1alpha1.PatternOverwrite), string(v1alpha1.PatternCopy),
		string(v1alpha1.PatternRandomRead), string(v1alpha1.PatternRandomWrite),
	}
}

// used is one of these flags that was given; "" if none was.
func (f *loadFlags) used(fs *pflag.FlagSet) string {
	var mine pflag.FlagSet
	used := ""
	cmd := &cobra.Command{}
	new(loadFlags).register(cmd)
	mine = *cmd.Flags()
	fs.Visit(func(flag *pflag.Flag) {
		if used == "" && mine.Lookup(flag.Name) != nil {
			used = flag.Name
		}
	})
	return used
}

// benchmark builds the manifest with nothing in it but what was given, so that
// the defaults stay those of the cluster.
func (f *loadFlags) benchmark(fs *pflag.FlagSet, name string) (*unstructured.Unstructured, error) {
	storage, err := f.storage()
	if err != nil {
		return nil, err
	}
	protocol, err := f.protocol(storage)
	if err != nil {
		return nil, err
	}
	raw, err := f.raw()
	if err != nil {
		return nil, err
	}
	if f.embedded != "" && f.fileSize == "" {
		f.fit(raw)
	}
	spec := map[string]any{"storage": storage, "protocol": protocol, "workload": map[string]any{"raw": raw}}
	if f.clients != 0 {
		spec["clients"] = int64(f.clients)
	}
	run, err := f.schedule(fs)
	if err != nil {
		return nil, err
	}
	if len(run) > 0 {
		spec["run"] = run
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": benchmarkKind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}, nil
}

func (f *loadFlags) storage() (map[string]any, error) {
	var storage []map[string]any
	if f.export != "" {
		servers, path, ok := cutExport(f.export)
		if !ok {
			return nil, fmt.Errorf("--export is %q; write SERVER:/PATH, or SERVER,SERVER:/PATH for several addresses", f.export)
		}
		storage = append(storage, map[string]any{"export": map[string]any{"servers": servers, "path": path}})
	}
	if f.claim != "" {
		storage = append(storage, map[string]any{"claim": map[string]any{"name": f.claim}})
	}
	if f.embedded != "" {
		storage = append(storage, map[string]any{"embedded": map[string]any{"size": f.embedded}})
	}
	if len(storage) != 1 {
		return nil, fmt.Errorf("%d of --export, --claim and --embedded are given: give one, for that is the storage to measure", len(storage))
	}
	return storage[0], nil
}

// cutExport splits SERVER,SERVER:/PATH. The last ":/" ends the servers, for IPv6
// addresses have colons.
func cutExport(s string) (servers []any, path string, ok bool) {
	i := strings.LastIndex(s, ":/")
	if i <= 0 {
		return nil, "", false
	}
	for server := range strings.SplitSeq(s[:i], ",") {
		server = strings.Trim(strings.TrimSpace(server), "[]")
		if server == "" {
			return nil, "", false
		}
		servers = append(servers, server)
	}
	return servers, s[i+1:], true
}

// protocol builds spec.protocol; the number of paths of an embedded server goes
// into storage.
func (f *loadFlags) protocol(storage map[string]any) (map[string]any, error) {
	protocol := map[string]any{}
	if f.client != "" {
		client, err := oneOf("client", f.client, clients(), map[string]string{"dnfs": string(v1alpha1.ClientDirectNFS)})
		if err != nil {
			return nil, err
		}
		protocol["client"] = client
	}
	if f.nfsVersion != "" {
		version, err := oneOf("version-nfs", f.nfsVersion, versions(), map[string]string{
			"3": string(v1alpha1.NFSv3), "4.0": string(v1alpha1.NFSv40), "4.1": string(v1alpha1.NFSv41),
		})
		if err != nil {
			return nil, err
		}
		protocol["version"] = version
	}
	if f.link != "" {
		link, err := linkOf(f.link)
		if err != nil {
			return nil, err
		}
		protocol["link"] = link
	}
	return protocol, f.setPaths(storage, protocol)
}

func (f *loadFlags) setPaths(storage, protocol map[string]any) error {
	if f.paths == "" {
		return nil
	}
	if embedded, ok := storage["embedded"].(map[string]any); ok {
		n, err := strconv.ParseInt(f.paths, 10, 32)
		if err != nil {
			return fmt.Errorf("--paths is %q; with --embedded it is how many addresses the server has, 1 to 4", f.paths)
		}
		embedded["paths"] = n
		return nil
	}
	for _, s := range []v1alpha1.PathSelection{v1alpha1.PathsAll, v1alpha1.PathsLocal, v1alpha1.PathsRemote} {
		if strings.EqualFold(f.paths, string(s)) {
			protocol["paths"] = map[string]any{"select": string(s)}
			return nil
		}
	}
	var explicit []any
	for path := range strings.SplitSeq(f.paths, ",") {
		if _, err := strconv.Atoi(path); err == nil || path == "" {
			return fmt.Errorf("--paths is %q; without --embedded it is All, Local, Remote, or the addresses to use", f.paths)
		}
		explicit = append(explicit, map[string]any{"path": path})
	}
	protocol["paths"] = map[string]any{"select": string(v1alpha1.PathsExplicit), "explicit": explicit}
	return nil
}

func linkOf(s string) (map[string]any, error) {
	rate, mtu, ok := strings.Cut(s, ":")
	link := map[string]any{"bitsPerSecond": rate}
	if ok {
		n, err := strconv.ParseInt(mtu, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--link is %q; write RATE or RATE:MTU, such as 10G:9000", s)
		}
		link["mtu"] = n
	}
	return link, nil
}

func (f *loadFlags) raw() (map[string]any, error) {
	pattern := string(v1alpha1.PatternRead)
	if f.pattern != "" {
		var err error
		pattern, err = oneOf("pattern", f.pattern, patterns(), map[string]string{
			"randread": string(v1alpha1.PatternRandomRead), "randwrite": string(v1alpha1.PatternRandomWrite),
		})
		if err != nil {
			return nil, err
		}
	}
	raw := map[string]any{"pattern": pattern}
	for field, value := range map[string]string{"blockSize": f.blockSize, "fileSize": f.fileSize} {
		if value != "" {
			raw[field] = value
		}
	}
	for field, value := range map[string]int32{"jobs": f.jobs, "depth": f.depth} {
		if value != 0 {
			raw[field] = int64(value)
		}
	}
	return raw, nil
}

// fit makes the files small enough for an embedded server, whose size is all that
// is said of it: together three quarters of it at most. An invalid size is
// for the cluster to refuse.
func (f *loadFlags) fit(raw map[string]any) {
	size, err := resource.ParseQuantity(f.embedded)
	if err != nil {
		return
	}
	files := int64(cmp.Or(f.jobs, runfile.DefaultJobs)) * int64(max(f.clients, 1))
	if raw["pattern"] == string(v1alpha1.PatternCopy) {
		files *= 2
	}
	room := size.Value() / 4 * 3 / max(files, 1)
	if room >= runfile.DefaultFileBytes || room < 1<<20 {
		return
	}
	raw["fileSize"] = strconv.Itoa(1<<(bits.Len64(uint64(room))-1-20)) + "Mi" //nolint:gosec // at least 1 MiB
}

func (f *loadFlags) schedule(fs *pflag.FlagSet) (map[string]any, error) {
	run := map[string]any{}
	for flag, part := range map[string]struct {
		field string
		value time.Duration
	}{
		"duration": {"durationSeconds", f.duration}, "warmup": {"warmupSeconds", f.warmup},
		"baseline": {"baselineSeconds", f.baseline}, "cooldown": {"cooldownSeconds", f.cooldown},
	} {
		if !fs.Changed(flag) {
			continue
		}
		if part.value%time.Second != 0 || part.value < 0 {
			return nil, fmt.Errorf("--%s is %s; use whole seconds", flag, part.value)
		}
		run[part.field] = int64(part.value / time.Second)
	}
	if f.repetitions != 0 {
		run["repetitions"] = int64(f.repetitions)
	}
	return run, nil
}

// oneOf finds a value whatever its case, or by another name that people use.
func oneOf(flag, value string, values []string, also map[string]string) (string, error) {
	if other, ok := also[strings.ToLower(value)]; ok {
		return other, nil
	}
	i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, value) })
	if i < 0 {
		return "", fmt.Errorf("--%s is %q; use %s", flag, value, strings.Join(values, ", "))
	}
	return values[i], nil
}
