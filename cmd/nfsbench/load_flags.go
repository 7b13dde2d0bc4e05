package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

// loadFlags holds the flags of load that describe a plan. They fill the spec of an NFSBenchmark, from which the plan
// is built as in a cluster.
type loadFlags struct {
	cli.Load

	file                   string
	oranfstab, serverLabel string
	servers                []string
	export, mount          string
	allowNonNFS            bool
	ports                  runfile.Ports
	name                   string

	cmd *cobra.Command // to see which flags were set
}

func (f *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.cmd = cmd
	fs.StringVarP(&f.file, "filename", "f", "",
		"file with an NFSBenchmark whose load to run, complete as a cluster takes it, - for standard input; the other flags "+
			"change what it says")
	fs.StringVar(&f.oranfstab, "oranfstab", "", "oranfstab with the paths and the export to use")
	fs.StringVar(&f.serverLabel, "server-label", "", "server block of the oranfstab to use, if it has several")
	fs.StringSliceVar(&f.servers, "server", nil,
		"addresses of one NFS server, one channel for each; ADDRESS:PORT where NFS and MOUNT share a port, as in nfsbench "+
			"serve")
	fs.StringVar(&f.export, "export", "", "export of the server, as its export list spells it")
	fs.StringVar(&f.mount, "mount", "",
		"directory where the operating system mounted the export: uses its client, past the page cache")
	fs.BoolVar(&f.allowNonNFS, "allow-non-nfs", false, "with --mount, accept a file system that is not NFS")
	fs.IntVar(&f.ports.NFS, "nfs-port", 0, "port of NFS (default: ask the portmapper; 2049 from NFSv4 on)")
	fs.IntVar(&f.ports.Mount, "mount-port", 0, "port of MOUNT (default: ask the portmapper); NFSv3")
	fs.IntVar(&f.ports.Portmap, "portmap-port", 0, "port of the portmapper (default 111); NFSv3")
	fs.StringVar(&f.name, "name", "", "name of the run in the result (default: what it loads)")
	f.Register(cmd)
}

// plan makes the plan. Its errors name the flag and the fix.
func (f *loadFlags) plan() (runfile.Plan, error) {
	spec, err := f.spec()
	if err != nil {
		return runfile.Plan{}, err
	}
	b := &v1alpha1.NFSBenchmark{}
	b.Name = cmp.Or(f.name, "load") // and that of the server in the oranfstab
	text, err := json.Marshal(spec)
	if err == nil {
		strict := json.NewDecoder(bytes.NewReader(text))
		strict.DisallowUnknownFields()
		err = strict.Decode(&b.Spec)
	}
	var plain map[string]any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		return runfile.Plan{}, fmt.Errorf("read the spec: %w", err)
	}
	if err := runfile.CheckWorkload(plain["workload"]); err != nil {
		return runfile.Plan{}, f.Explain(spec, err)
	}
	runfile.SetDefaults(plain)
	if text, err = json.Marshal(plain); err == nil {
		err = json.Unmarshal(text, &b.Spec)
	}
	if err != nil {
		return runfile.Plan{}, fmt.Errorf("set the defaults of the spec: %w", err)
	}
	p, err := f.planOf(b)
	if err == nil {
		p.Run.Name = cmp.Or(f.name, where(p.Engine))
		err = loadgen.CheckPlan(&p)
	}
	return p, f.Explain(spec, err)
}

// where names the storage of a plan.
func where(e runfile.Engine) string {
	if len(e.Channels) > 0 {
		return runfile.MountSource(e.Channels[0].Path, e.Export)
	}
	return cmp.Or(e.MountPath, "load")
}

// spec returns the spec of the file, or an empty one, with the fields that the flags set.
func (f *loadFlags) spec() (map[string]any, error) {
	if f.file == "" {
		spec := map[string]any{}
		return spec, f.Fill(spec)
	}
	spec, err := f.readFile()
	if err != nil {
		return nil, fmt.Errorf("--filename %s: %w", f.file, err)
	}
	return spec, f.Fill(spec)
}

// readFile reads the benchmark of the file, checks it as the API server does, and returns its spec.
func (f *loadFlags) readFile() (map[string]any, error) {
	const limit = 1 << 20
	var object map[string]any
	text, err := cli.ReadInput(f.cmd.Context(), f.cmd.InOrStdin(), f.file, "manifest", limit)
	if err == nil {
		err = yamlbound.UnmarshalStrict(text, limit, &object)
	}
	if err != nil {
		return nil, err
	}
	kind, _ := object["kind"].(string)
	spec, _ := object["spec"].(map[string]any)
	if kind != "NFSBenchmark" || spec == nil {
		return nil, fmt.Errorf("it has no spec, or kind %q; give a file with one NFSBenchmark", kind)
	}
	for member := range object {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, member) {
			return nil, fmt.Errorf("%s: unknown field", member)
		}
	}
	checker, err := crdcheck.New()
	if err == nil {
		text, err = json.Marshal(spec)
	}
	if err == nil {
		_, err = checker.Complete(text)
	}
	if metadata, _ := object["metadata"].(map[string]any); !f.cmd.Flags().Changed("name") {
		name, _ := metadata["name"].(string)
		f.name = cmp.Or(name, f.name)
	}
	return spec, err
}

// checkStorage checks that the flags, or the spec, name the storage in exactly one way.
func (f *loadFlags) checkStorage(spec v1alpha1.NFSBenchmarkSpec) error {
	var ways []string
	for _, w := range []struct {
		flag string
		set  bool
	}{{"--mount", f.mount != ""}, {"--oranfstab", f.oranfstab != ""}, {"--server", len(f.servers) > 0}} {
		if w.set {
			ways = append(ways, w.flag)
		}
	}
	switch {
	case spec.Database != nil:
		return errors.New("spec.database needs a cluster; remove it for the same I/O without a database")
	case len(ways) > 1:
		return fmt.Errorf("%s exclude each other; give one of them", strings.Join(ways, " and "))
	case len(ways) == 0 && spec.Storage.Export != nil && spec.Protocol.Client == bench.ClientKernel:
		return errors.New("protocol.client is Kernel, which measures a mount: mount the export and give its directory with " +
			"--mount, or write DirectNFS")
	case len(ways) == 0 && spec.Storage.Export == nil:
		return errors.New("nothing says where the storage is; give --server and --export, --oranfstab, --mount, or " +
			"--plan; a file names it with storage.export and the client DirectNFS")
	case len(f.servers) > oranfstab.MaxPaths:
		return fmt.Errorf("--server has %d addresses; give 1 to %d", len(f.servers), oranfstab.MaxPaths)
	case len(slices.Compact(slices.Sorted(slices.Values(f.servers)))) < len(f.servers):
		return fmt.Errorf("--server %s names an address twice; give each once", strings.Join(f.servers, ","))
	case len(f.servers) > 0 && f.export == "":
		return errors.New("--export is missing; name the export of --server, such as /export")
	case f.serverLabel != "" && f.oranfstab == "":
		return errors.New("--server-label chooses a block of an oranfstab; give it with --oranfstab only")
	}
	return nil
}

// planOf builds the plan as in a cluster, and adds the settings that only flags have.
func (f *loadFlags) planOf(b *v1alpha1.NFSBenchmark) (runfile.Plan, error) {
	if err := f.checkStorage(b.Spec); err != nil {
		return runfile.Plan{}, err
	}
	t, err := f.locate(b)
	if err != nil {
		return runfile.Plan{}, err
	}
	p, err := plan.Build(b, t)
	if err != nil {
		return p, err
	}
	if raw := b.Spec.Workload.Raw; raw == nil || raw.Seed == nil {
		p.Seed = 1
	}
	e := &p.Engine
	e.Ports = f.ports
	if b.Spec.Run.TimeoutSeconds == nil {
		p.Schedule.TimeoutSeconds = 0 // the user at the terminal ends the run
	}
	if f.mount != "" {
		if e.MountPath, err = filepath.Abs(f.mount); err != nil {
			return p, err
		}
		return p, f.unused("--mount: the operating system has mounted the export; leave it out", "transfer-size",
			"sessions", "uid", "gid", "nfs-port", "mount-port", "portmap-port")
	}
	if f.oranfstab != "" {
		if err := f.useOranfstab(e); err != nil {
			return p, fmt.Errorf("--oranfstab: %w", err)
		}
	}
	if e.NFSVersion != bench.NFSv3 {
		err = f.unused(string(e.NFSVersion)+", which has neither portmapper nor MOUNT; leave it out, and give the port of "+
			"the server with --nfs-port", "mount-port", "portmap-port")
	}
	return p, err
}

// locate sets the storage of b from the flags, and returns its target.
func (f *loadFlags) locate(b *v1alpha1.NFSBenchmark) (plan.Target, error) {
	s, protocol := &b.Spec.Storage, &b.Spec.Protocol
	protocol.Client = bench.ClientDirectNFS
	switch {
	case f.mount != "":
		protocol.Client = bench.ClientKernel
		*s = v1alpha1.Storage{Claim: &v1alpha1.ClaimStorage{}}
		if f.allowNonNFS {
			s.Claim.NonNFS = v1alpha1.NonNFSMeasure
		}
		return plan.Target{}, nil
	case f.oranfstab != "":
		if protocol.Version != "" && f.file == "" {
			return plan.Target{}, errors.New("--nfs-version does not go with --oranfstab; change the nfs_version of the " +
				"server there")
		}
		return plan.Anywhere(), nil
	}
	protocol.Version = cmp.Or(protocol.Version, bench.NFSv3)
	if len(f.servers) > 0 {
		*s = v1alpha1.Storage{Export: &v1alpha1.ExportStorage{Path: f.export}}
	}
	for _, given := range f.servers {
		address, err := takePort(given, protocol.Version, &f.ports)
		if err != nil {
			return plan.Target{}, err
		}
		s.Export.Servers = append(s.Export.Servers, address)
	}
	t := plan.Target{Export: s.Export.Path, Addresses: s.Export.Servers}
	var err error
	t.Paths, err = plan.SelectPaths(b.Spec, t.Addresses, nil)
	return t, err
}

func (f *loadFlags) useOranfstab(e *runfile.Engine) error {
	text, err := cli.ReadInput(f.cmd.Context(), f.cmd.InOrStdin(), f.oranfstab, "oranfstab", maxOranfstabBytes)
	if err != nil {
		return err
	}
	e.Server, e.Export = f.serverLabel, f.export
	if err := e.UseOranfstab(string(text)); err != nil {
		return fmt.Errorf("%s: %w", f.oranfstab, err)
	}
	return nil
}

// unused rejects flags that have no effect with something else that is given.
func (f *loadFlags) unused(with string, flags ...string) error {
	for _, flag := range flags {
		if f.cmd.Flags().Changed(flag) {
			return fmt.Errorf("--%s does nothing with %s", flag, with)
		}
	}
	return nil
}

// takePort splits ADDRESS[:PORT]. With NFSv3, the port belongs to a server that serves NFS and
// MOUNT on one port, as nfsbench serve does. An oranfstab has no ports, so all addresses share one.
func takePort(given string, version bench.NFSVersion, ports *runfile.Ports) (address string, err error) {
	host, text, err := net.SplitHostPort(given)
	if err != nil { // no port
		if bare, ok := strings.CutPrefix(given, "["); ok {
			given = strings.TrimSuffix(bare, "]")
		}
		if strings.ContainsAny(given, "/[]") {
			return "", fmt.Errorf("--server is %q; give an address, or ADDRESS:PORT, with the export in --export", given)
		}
		return given, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || host == "" {
		return "", fmt.Errorf("--server is %q; the port is a number from 1 to 65535", given)
	}
	if ports.NFS != 0 && ports.NFS != int(port) {
		return "", fmt.Errorf("--server is %q, but another port was given before; all addresses of a server have the same "+
			"port", given)
	}
	ports.NFS = int(port)
	if ports.Mount == 0 && version == bench.NFSv3 {
		ports.Mount = int(port)
	}
	return host, nil
}
