package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadFlags holds the flags that declare a benchmark. The API's defaults apply to flags that are not set. Fields
// without a flag need a file.
type loadFlags struct {
	export, claim, embedded string
	storageClass, size      string
	client, paths           string
	load                    cli.Load
	clients                 int32
}

func (f *loadFlags) register(cmd *cobra.Command) {
	f.registerStorage(cmd)
	cmd.Flags().Int32Var(&f.clients, "clients", 0, "pods that load together (default 1)")
	f.load.Register(cmd)
}

// registerStorage adds the flags of storage, NFS client and paths. A command that does not call register leaves the
// flags of the load at their defaults.
func (f *loadFlags) registerStorage(cmd *cobra.Command) {
	f.load.Register(&cobra.Command{})
	fs := cmd.Flags()
	fs.StringVar(&f.export, "export", "", "an NFS export, SERVER[,SERVER...]:/PATH; one path for each address")
	fs.StringVar(&f.claim, "claim", "", "a PersistentVolumeClaim")
	fs.StringVar(&f.embedded, "embedded", "",
		"size of an NFS server of the operator's own, such as 2Gi: to try, not to measure storage")
	fs.StringVar(&f.storageClass, "storage-class", "",
		"a StorageClass; without NAME the command measures it, prints the report and removes everything")
	fs.StringVar(&f.size, "size", "10Gi", "with --storage-class, size of the volume")
	fs.StringVar(&f.client, "client", "", "who speaks NFS: DirectNFS or Kernel (default DirectNFS)")
	fs.StringVar(&f.paths, "paths", "", "All, Local, Remote or addresses of the export to use, such as "+
		"192.0.2.11,198.51.100.11; with --embedded how many (default all)")
	cli.CompleteValues(cmd, "client", clients()...)
}

func clients() []string {
	return []string{string(bench.ClientDirectNFS), string(bench.ClientKernel)}
}

// benchmark builds a manifest of only the flags that are set, so that the defaults of the cluster apply.
func (f *loadFlags) benchmark(name string) (*unstructured.Unstructured, error) {
	storage, err := f.storage()
	if err != nil {
		return nil, err
	}
	protocol, err := f.protocol(storage)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"storage": storage, "protocol": protocol}
	if f.clients != 0 {
		spec["clients"] = int64(f.clients)
	}
	if err := f.load.Fill(spec); err != nil {
		return nil, err
	}
	f.fit(spec)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": benchmarkKind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}, nil
}

func (f *loadFlags) storage() (map[string]any, error) {
	var storage []map[string]any
	if f.export != "" {
		// The last ":/" ends the servers, because IPv6 addresses have colons.
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
	if f.client != "" {
		client, err := cli.OneOf("client", f.client, clients())
		if err != nil {
			return nil, err
		}
		protocol["client"] = client
	}
	if f.paths == "" {
		return protocol, nil
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

// fit limits the files of a raw load to three quarters of the size of an embedded server or of a volume of a class.
// It ignores an invalid size, which the cluster rejects.
func (f *loadFlags) fit(spec map[string]any) {
	raw, is, _ := unstructured.NestedMap(spec, "workload", "raw")
	standard := func(field string) string { return fmt.Sprint(runfile.Default("workload", "raw", field)) }
	own := f.embedded
	if f.storageClass != "" {
		own = f.size
	}
	size, err := resource.ParseQuantity(own)
	if !is || raw["fileSize"] != nil || err != nil {
		return
	}
	jobs, given := raw["jobs"].(int64)
	if !given {
		jobs, _ = strconv.ParseInt(standard("jobs"), 10, 64)
	}
	files := int64(max(f.clients, 1)) * max(jobs, 1)
	if raw["pattern"] == string(bench.PatternCopy) {
		files *= 2
	}
	whole := resource.MustParse(standard("fileSize"))
	if room := size.Value() / 4 * 3 / files; room >= 1<<20 && room < whole.Value() {
		raw["fileSize"] = strconv.Itoa(1<<(bits.Len64(uint64(room))-1-20)) + "Mi"
		spec["workload"] = map[string]any{"raw": raw}
	}
}
