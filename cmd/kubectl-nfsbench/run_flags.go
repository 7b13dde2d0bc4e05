package main

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadFlags declare a benchmark of one line. What is not given is left to the defaults
// of the API; what has no flag is for a file.
type loadFlags struct {
	export, claim, embedded   string
	storageClass, size        string
	compare                   string // another class
	rounds                    int    // of a comparison
	client, nfsVersion, paths string
	load                      cli.Load
	clients                   int32
}

func (f *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.export, "export", "", "an NFS export, SERVER[,SERVER...]:/PATH; one path for each address")
	fs.StringVar(&f.claim, "claim", "", "a PersistentVolumeClaim")
	fs.StringVar(&f.embedded, "embedded", "",
		"size of an NFS server of the operator's own, such as 2Gi: to try, not to measure storage")
	fs.StringVar(&f.storageClass, "storage-class", "",
		"a StorageClass; without NAME the command measures it, prints the report and removes everything")
	fs.StringVar(&f.size, "size", "10Gi", "with --storage-class, size of the volume")
	fs.StringVar(&f.compare, "compare", "",
		"with --storage-class and without NAME, another class to measure in turns with it")
	fs.IntVar(&f.rounds, "rounds", classRounds, "with --compare, how often each class is measured")
	fs.StringVar(&f.client, "client", "", "who speaks NFS: DirectNFS or Kernel (default DirectNFS)")
	fs.StringVar(&f.nfsVersion, "nfs-version", "",
		"version of NFS: NFSv3, NFSv4.0, NFSv4.1, NFSv4.2 with the client Kernel, or pNFS (default NFSv3)")
	fs.StringVar(&f.paths, "paths", "", "All, Local, Remote or addresses of the export to use, such as "+
		"192.0.2.11,198.51.100.11; with --embedded how many (default all)")
	f.load.Register(cmd)
	fs.Int32Var(&f.clients, "clients", 0, "pods that load together (default 1)")
	cli.CompleteValues(cmd, "client", clients()...)
	cli.CompleteValues(cmd, "nfs-version", bench.NFSVersions()...)
}

func clients() []string {
	return []string{string(bench.ClientDirectNFS), string(bench.ClientKernel)}
}

// checkUnused refuses these flags beside a file.
func (*loadFlags) checkUnused(fs *pflag.FlagSet) error {
	for _, flag := range []string{
		"export", "claim", "embedded", "storage-class", "size", "compare", "rounds", "client", "nfs-version", "paths",
		"workload", "pattern", "duration", "clients",
	} {
		if fs.Changed(flag) {
			return fmt.Errorf("--%s does not go with -f: change the file instead", flag)
		}
	}
	return nil
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
	if err := f.load.Parse(); err != nil {
		return nil, err
	}
	if fs.Changed("pattern") && f.load.Workload != cli.WorkloadRaw {
		return nil, fmt.Errorf("--pattern does nothing with --workload %s; leave it out", f.load.Workload)
	}
	spec := map[string]any{"storage": storage, "protocol": protocol, "workload": f.workload()}
	if f.clients != 0 {
		spec["clients"] = int64(f.clients)
	}
	if fs.Changed("duration") {
		spec["run"] = map[string]any{"durationSeconds": int64(f.load.DurationSeconds)}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": benchmarkKind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}, nil
}

func (f *loadFlags) storage() (map[string]any, error) {
	var storage []map[string]any
	if f.export != "" {
		// The last ":/" ends the servers, for IPv6 addresses have colons.
		i := strings.LastIndex(f.export, ":/")
		var servers []any
		for server := range strings.SplitSeq(f.export[:max(i, 0)], ",") {
			if server = strings.Trim(strings.TrimSpace(server), "[]"); server == "" {
				return nil, fmt.Errorf(
					"--export is %q; write SERVER:/PATH, or SERVER,SERVER:/PATH for several addresses", f.export)
			}
			servers = append(servers, server)
		}
		storage = append(storage, map[string]any{"export": map[string]any{"servers": servers, "path": f.export[i+1:]}})
	}
	if f.claim != "" {
		storage = append(storage, map[string]any{"claim": map[string]any{"name": f.claim}})
	}
	if f.embedded != "" {
		storage = append(storage, map[string]any{"embedded": map[string]any{"size": f.embedded}})
	}
	if f.storageClass != "" {
		storage = append(storage, map[string]any{"storageClass": map[string]any{"name": f.storageClass, "size": f.size}})
	}
	if len(storage) != 1 {
		return nil, fmt.Errorf("%d of --export, --claim, --storage-class and --embedded are given: give one, for that is "+
			"the storage to measure", len(storage))
	}
	return storage[0], nil
}

// protocol builds spec.protocol; the number of paths of an embedded server goes
// into storage.
func (f *loadFlags) protocol(storage map[string]any) (map[string]any, error) {
	protocol := map[string]any{}
	var errs [2]error
	if f.client != "" {
		protocol["client"], errs[0] = cli.OneOf("client", f.client, clients(), map[string]string{
			"dnfs": string(bench.ClientDirectNFS),
		})
	}
	if f.nfsVersion != "" {
		var version bench.NFSVersion
		version, errs[1] = cli.NFSVersion("nfs-version", f.nfsVersion)
		protocol["version"] = string(version)
	}
	if err := errors.Join(errs[:]...); err != nil || f.paths == "" {
		return protocol, err
	}
	if embedded, ok := storage["embedded"].(map[string]any); ok {
		n, err := strconv.ParseInt(f.paths, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--paths is %q; with --embedded it is how many addresses the server has, 1 to 4", f.paths)
		}
		embedded["paths"] = n
		return protocol, nil
	}
	for _, s := range []bench.PathSelection{bench.PathsAll, bench.PathsLocal, bench.PathsRemote} {
		if strings.EqualFold(f.paths, string(s)) {
			protocol["paths"] = map[string]any{"select": string(s)}
			return protocol, nil
		}
	}
	var explicit []any
	for path := range strings.SplitSeq(f.paths, ",") {
		if _, err := strconv.Atoi(path); err == nil || path == "" {
			return nil, fmt.Errorf(
				"--paths is %q; without --embedded it is All, Local, Remote, or the addresses to use", f.paths)
		}
		explicit = append(explicit, map[string]any{"path": path})
	}
	protocol["paths"] = map[string]any{"select": string(bench.PathsExplicit), "explicit": explicit}
	return protocol, nil
}

// workload builds spec.workload. Files of a raw load are made small enough for an
// embedded server and for a volume of a class, whose size is all that the flags say of it:
// together three quarters of it at most. An invalid size is for the cluster to refuse.
func (f *loadFlags) workload() map[string]any {
	switch f.load.Workload {
	case cli.WorkloadCalibrate:
		return map[string]any{"calibrate": map[string]any{}}
	case cli.WorkloadSLOBRead:
		return map[string]any{"slob": map[string]any{"access": string(bench.SLOBRandomRead)}}
	case cli.WorkloadSLOBScan:
		return map[string]any{"slob": map[string]any{"access": string(bench.SLOBFullTableScan)}}
	}
	raw := map[string]any{"pattern": string(f.load.Pattern)}
	own := f.embedded
	if f.storageClass != "" {
		own = f.size
	}
	if size, err := resource.ParseQuantity(own); err == nil {
		files := runfile.DefaultJobs * int64(max(f.clients, 1))
		if f.load.Pattern == bench.PatternCopy {
			files *= 2
		}
		if room := size.Value() / 4 * 3 / files; room >= 1<<20 && room < runfile.DefaultFileBytes {
			raw["fileSize"] = strconv.Itoa(1<<(bits.Len64(uint64(room))-1-20)) + "Mi"
		}
	}
	return map[string]any{"raw": raw}
}
