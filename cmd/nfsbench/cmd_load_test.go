package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/output"
	"github.com/nfsbench/nfsbench/test/ports"
)

// serveLoopback runs an NFS server on two loopback addresses with one port and
// returns the flags that lead to it, and the directory behind its export.
func serveLoopback(t *testing.T) (flags []string, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	port := ports.Reserve(t).Port()
	listen := []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.2:%d", port)}
	s, err := server.New(server.Options{Dir: dir, Listen: listen, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return []string{"--server", strings.Join(listen, ","), "--export", "/export"}, dir
}

// patience are flags of the limits of a load, which are there for hangs alone.
func patience() []string { return []string{"--mount-timeout=10m", "--call-timeout=10m"} }

// smallLoad are flags of a load of a second.
func smallLoad() []string {
	return append(patience(),
		"--file-size=2Mi", "--block-size=64Ki", "--jobs=2", "--depth=4", "--duration=1s", "--warmup=0s", "--baseline=0s", "--progress=json",
	)
}

func runLoad(t *testing.T, want int, args ...string) (out, errOut string) {
	t.Helper()
	var stdout bytes.Buffer
	var stderr output.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != want {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// writtenPlan is the file with the plan that load makes of these flags.
func writtenPlan(t *testing.T, args ...string) (file string) {
	t.Helper()
	plan, _ := runLoad(t, cli.ExitOK, append([]string{"load", "--print-plan"}, args...)...)
	file = filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// reportedLoad is what a load has written into its run directory.
func reportedLoad(t *testing.T, dir string) runfile.Load {
	t.Helper()
	l, err := readFlagFile("load", filepath.Join(dir, runfile.LoadFile), runfile.ReadLoad)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// refuses wants the command to end as one with bad input, and to say each of the parts.
func refuses(t *testing.T, args []string, parts ...string) {
	t.Helper()
	_, errOut := runLoad(t, cli.ExitBadInput, args...)
	for _, part := range parts {
		if !strings.Contains(errOut, part) {
			t.Errorf("stderr lacks %q: %s", part, errOut)
		}
	}
}

// runUntilMeasured runs a load with windows of a second, and with longer ones until
// every window has an operation of each kind: a busy machine may complete none in a
// second.
func runUntilMeasured(t *testing.T, reads, writes bool, args ...string) (result runfile.Result, errOut string) {
	t.Helper()
	for _, seconds := range []int{1, 4, 16, 64} {
		out, errs := runLoad(t, cli.ExitOK, append(args, fmt.Sprintf("--duration=%ds", seconds))...)
		var err error
		if result, err = runfile.ReadResult(strings.NewReader(out)); err != nil {
			t.Fatal(err)
		}
		errOut = errs
		if !slices.ContainsFunc(result.Clients[0].Load.Repetitions, func(r runfile.Repetition) bool {
			return reads && r.Read == nil || writes && r.Write == nil
		}) {
			break
		}
	}
	return result, errOut
}

func TestLoadMeasuresOverEveryPathAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"read", "overwrite", "copy", "randread", "randwrite"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			storage, dir := serveLoopback(t)
			args := append([]string{"load", "--output=json", "--pattern", pattern}, append(storage, smallLoad()...)...)
			reads := pattern == "read" || pattern == "randread" || pattern == "copy"
			writes := pattern == "overwrite" || pattern == "randwrite" || pattern == "copy"
			result, errOut := runUntilMeasured(t, reads, writes, args...)
			checkResult(t, result, reads, writes)
			if names, _ := os.ReadDir(dir); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
			if !strings.Contains(errOut, `"span":"Measure"`) || !strings.Contains(errOut, `"percent":100`) {
				t.Errorf("progress:\n%s", errOut)
			}
		})
	}
}

func checkResult(t *testing.T, result runfile.Result, reads, writes bool) {
	t.Helper()
	client := result.Clients[0]
	load := client.Load
	if load.Partial || load.Failure != nil || len(load.Repetitions) != 1 {
		t.Fatalf("load %+v", load)
	}
	rep := load.Repetitions[0]
	if (rep.Read != nil) != reads || (rep.Write != nil) != writes {
		t.Errorf("read %v, wrote %v", rep.Read, rep.Write)
	}
	if len(rep.Channels) != 2 {
		t.Fatalf("channels %+v", rep.Channels)
	}
	// A window of a second on a busy machine may have fewer operations than channels.
	few := func(o *runfile.Ops) bool { return o == nil || o.Count < 50 }
	for i, c := range rep.Channels {
		if c.State != "Up" || !few(rep.Read) && c.BytesRead == 0 || !few(rep.Write) && c.BytesWritten == 0 {
			t.Errorf("channel %d carried nothing: %+v", i, c)
		}
	}
	if v := load.Verification; v == nil || v.BlocksChecked == 0 || v.BlocksWrong != 0 {
		t.Errorf("verification %+v", v)
	}
	if load.Mount == nil || load.Mount.NFSVersion != "NFSv3" || rep.CPUMicroseconds <= 0 || rep.PeakMemoryBytes <= 0 {
		t.Errorf("mount %+v, CPU %d us, memory %d", load.Mount, rep.CPUMicroseconds, rep.PeakMemoryBytes)
	}
	if rep.WakeUps == nil || rep.WakeUps.Count == 0 {
		t.Errorf("how late the client woke is not known: %+v", rep.WakeUps)
	}
	if load.CeilingPerSecond == nil {
		t.Error("what the client can do without the storage is not known")
	}
	if client.Observed == nil || client.Host.CPUs == 0 {
		t.Errorf("nobody observed the client: %+v", client.Host)
	}
}

func TestLoadFromAPlanTellsTheRunDirectoryAndCleanRemovesTheFiles(t *testing.T) {
	t.Parallel()
	storage, dir := serveLoopback(t)
	work := t.TempDir()
	planFile := writtenPlan(t, append(append(storage, smallLoad()...), "--keep-files")...)
	if out, _ := runLoad(t, cli.ExitOK, "load", "--plan", planFile, "--run-dir", work, "--progress=none"); out != "" {
		t.Errorf("beside a collector stdout has %q", out)
	}
	if l := reportedLoad(t, work); l.Partial || len(l.Repetitions) != 1 {
		t.Errorf("load %+v", l)
	}
	if events, _ := os.ReadFile(filepath.Join(work, runfile.EventsFile)); !bytes.Contains(events, []byte(`"span":"Done"`)) {
		t.Errorf("events %s", events)
	}
	if names, _ := os.ReadDir(filepath.Join(dir, "nfsbench")); len(names) != 3 {
		t.Fatalf("--keep-files kept %v", names)
	}
	out, _ := runLoad(t, cli.ExitOK, "clean", "--plan", planFile)
	if want := "removed 3 files of directory \"nfsbench\": c0-j0.dat, c0-j1.dat, nfsbench-c0.json\nremoved the directory\n"; out != want {
		t.Errorf("clean said %q, want %q", out, want)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("clean left %v", names)
	}
	if out, _ := runLoad(t, cli.ExitOK, "clean", "--plan", planFile); out != "no files of nfsbench in directory \"nfsbench\"\n" {
		t.Errorf("the second clean said %q", out)
	}
}

func TestCleanLeavesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	storage, dir := serveLoopback(t)
	planFile := writtenPlan(t, append(slices.Clone(storage), smallLoad()...)...)
	precious := filepath.Join(dir, "nfsbench", "c0-j0.dat")
	if err := os.Mkdir(filepath.Dir(precious), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	runLoad(t, cli.ExitOK, "clean", "--plan", planFile)
	_, errOut := runLoad(t, cli.ExitFailed, append(append([]string{"load"}, storage...), smallLoad()...)...)
	if !strings.Contains(errOut, "ForeignFiles") || !strings.Contains(errOut, "--overwrite-existing") {
		t.Errorf("the load said %s", errOut)
	}
	if data, err := os.ReadFile(precious); err != nil || string(data) != "precious" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

func TestCleanEndsInTimeWhenTheStorageIsSilent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	planFile := writtenPlan(t, "--server", silent.Addr().String(), "--export", "/export")
	_, errOut := runLoad(t, cli.ExitFailed, "clean", "--plan", planFile, "--timeout=1s")
	if !strings.Contains(errOut, "clean:") {
		t.Errorf("clean said %s", errOut)
	}
}

func TestLoadFailsWithTheCodeAndASentence(t *testing.T) {
	t.Parallel()
	storage, _ := serveLoopback(t)
	cases := map[string]struct {
		args []string
		says []string
	}{
		"wrong export":   {[]string{"load", storage[0], storage[1], "--export", "/exprt"}, []string{"NoSuchExport", "/exprt"}},
		"not NFS":        {[]string{"load", "--mount", t.TempDir()}, []string{"NotNFS", "--allow-non-nfs"}},
		"nobody listens": {[]string{"load", "--server", "127.0.0.9:9", "--export", "/export"}, []string{"ServerUnreachable", "127.0.0.9", "port 9"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errOut := runLoad(t, cli.ExitFailed, append(tc.args, append(smallLoad(), "--output=json")...)...)
			for _, part := range tc.says {
				if !strings.Contains(errOut, part) {
					t.Errorf("stderr lacks %q:\n%s", part, errOut)
				}
			}
			result, err := runfile.ReadResult(strings.NewReader(out))
			if err != nil || !result.Clients[0].Load.Partial || result.Clients[0].Load.Failure == nil {
				t.Errorf("the result does not say that it failed: %v\n%s", err, out)
			}
		})
	}
}

func TestTheExitCodeOfALoadIsItsVerdict(t *testing.T) {
	t.Parallel()
	storage, _ := serveLoopback(t)
	args := append([]string{"load", "--output=json"}, append(storage, smallLoad()...)...)
	runLoad(t, cli.ExitOK, append(args, "--expect=minIOPS=1")...)
	// The speed of the loopback interface is not known.
	if _, errOut := runLoad(t, cli.ExitVerdict, append(args, "--expect=minWirePercent=1")...); !strings.Contains(errOut, "is not known (verdict Inconclusive)") {
		t.Errorf("it says %s", errOut)
	}
	_, errOut := runLoad(t, cli.ExitVerdict, append(args, "--expect", "minIOPS=1000000000,maxMeanLatencyMicroseconds=60000000")...)
	if !strings.Contains(errOut, "verdict Fail") {
		t.Errorf("it says %s", errOut)
	}
}

func TestLoadOfAFileThatIsNoBenchmark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: NFSBenchmarkSuite\nspec: {}\n": `kind "NFSBenchmarkSuite"`,
		"kind: NFSBenchmark\n":                "no spec",
		"kind: NFSBenchmark\nspec: {storage: {claim: {name: a}}, workload: {raw: {pattern: Read}}}\n":                                                                                                        "storage.export",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, workload: {raw: {patern: Read}}}\n":                                                                                         "spec.workload.raw.patern: unknown field; did you mean spec.workload.raw.pattern?",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, workload: {raw: {pattern: Read, blockSize: 1MB}}}\n":                                                                        "such as 8Ki",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, workload: {raw: {pattern: Read, blocksize: 1Mi}}}\n":                                                                        "did you mean spec.workload.raw.blockSize?",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, protocol: {client: dNFS}, workload: {raw: {pattern: Read}}}\n":                                                              `supported values: "Kernel", "DirectNFS"`,
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, protocol: {client: Kernel}, workload: {raw: {pattern: Read}}}\n":                                                            "give its directory with --mount",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}}\n":                                                                                                                          "spec.workload: Required value",
		"kind: NFSBenchmark\nspec: {storage: {export: {servers: [a], path: /x}}, workload: {calibrate: {}}, database: {external: {connectString: 'a:1521/b', credentialsSecretRef: {name: s}, image: i}}}\n": "spec.database needs a cluster",
		"spec: {}\n": `kind ""`,
		"kind: NFSBenchmark\nspec: {}\nsepc: {}\n": "sepc: unknown field",
	} {
		file := filepath.Join(t.TempDir(), "b.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, []string{"load", "--print-plan", "-f", file}, want)
	}
}

func TestLoadRefusesBadInputByTheFlag(t *testing.T) {
	t.Parallel()
	server := []string{"load", "--server", "10.0.0.1", "--export", "/e"}
	with := func(extra ...string) []string { return append(append([]string{}, server...), extra...) }
	plan := writtenPlan(t, server[1:]...)
	cases := map[string]struct {
		args []string
		says []string
	}{
		"no storage":            {[]string{"load"}, []string{"--server", "--oranfstab", "--mount", "--plan"}},
		"two storages":          {with("--mount", "/mnt"), []string{"--server", "--mount", "one of them"}},
		"no export":             {server[:3], []string{"--export is missing"}},
		"export in server":      {[]string{"load", "--server", "10.0.0.1:/vol", "--export", "/e"}, []string{`--server is "10.0.0.1:/vol"`}},
		"two ports":             {[]string{"load", "--server", "10.0.0.1:1,10.0.0.2:2", "--export", "/e"}, []string{"--server", "same port"}},
		"five paths":            {[]string{"load", "--server", "10.0.0.1,10.0.1.2,10.0.2.3,10.0.3.4,10.0.4.5", "--export", "/e"}, []string{"--server has 5 addresses; give 1 to 4"}},
		"pattern":               {with("--pattern", "reed"), []string{`"reed" for "--pattern"`, "RandomRead"}},
		"block size":            {with("--block-size", "100"), []string{"--block-size is 100"}},
		"file below block":      {with("--file-size", "4Ki"), []string{"--file-size is 4096"}},
		"no jobs":               {with("--jobs", "0"), []string{"--jobs is 0"}},
		"split second":          {with("--duration", "1500ms"), []string{`"1500ms" for "--duration"`, "whole seconds"}},
		"no duration":           {with("--duration", "0s"), []string{"--duration is 0"}},
		"link":                  {with("--link", "fast"), []string{`"fast" for "--link"`, "1Gbit"}},
		"directory":             {with("--dir", "a/b"), []string{`"a/b"`, "one directory"}},
		"uid":                   {with("--uid", "-7"), []string{`"-7" for "--uid"`}},
		"folder of the output":  {with("--output", "/no/such/r.json"), []string{"--output /no/such/r.json: no file can be made in that folder: no such file"}},
		"output":                {with("--output", "xml"), []string{`--output is "xml"`}},
		"progress":              {with("--progress", "dots"), []string{`--progress is "dots"`}},
		"missing plan":          {[]string{"load", "--plan", "/no/such"}, []string{"--plan", "/no/such"}},
		"plan and a flag":       {[]string{"load", "--plan", plan, "--depth", "3"}, []string{"--depth", "--plan"}},
		"missing oranfstab":     {[]string{"load", "--oranfstab", "/no/such"}, []string{"--oranfstab", "/no/such"}},
		"version":               {with("--nfs-version", "4.3"), []string{`"4.3" for "--nfs-version"`, "NFSv4.2, pNFS"}},
		"version of the kernel": {with("--nfs-version", "4.2"), []string{"--nfs-version is", "DirectNFS speaks NFSv3, NFSv4.0, NFSv4.1 and pNFS"}},
		"two versions":          {[]string{"load", "--oranfstab", plan, "--nfs-version", "4.1"}, []string{"--nfs-version", "nfs_version"}},
		"an address twice":      {[]string{"load", "--server", "10.0.1.1,10.0.1.1", "--export", "/x"}, []string{"--server 10.0.1.1,10.0.1.1 names an address twice"}},
		"relative export":       {[]string{"load", "--server", "10.0.1.1", "--export", "x"}, []string{"--export is \"x\""}},
		"portmapper of v4":      {with("--nfs-version", "4.1", "--portmap-port", "1111"), []string{"--portmap-port does nothing with NFSv4.1", "--nfs-port"}},
		"MOUNT of v4":           {with("--nfs-version", "nfsv4", "--mount-port", "1111"), []string{"--mount-port does nothing with NFSv4.0"}},
		"label of a server":     {with("--server-label", "x"), []string{"--server-label"}},
		"sizes of a mount":      {[]string{"load", "--mount", "/", "--transfer-size", "64Ki"}, []string{"--transfer-size does nothing with --mount", "leave it out"}},
		"clean without plan":    {[]string{"clean"}, []string{"--plan is missing"}},
		"clean without time":    {[]string{"clean", "--plan", plan, "--timeout", "0s"}, []string{"--timeout is 0s"}},
		"client out of range":   {with("--client-index", "4"), []string{"client index is 4"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { refuses(t, tc.args, tc.says...) })
	}
}

func TestABadPlanIsToldInTheRunDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(plan, []byte(`{"version":"nfsbench.io/plan/v1","run":{"name":"x"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runLoad(t, cli.ExitBadInput, "load", "--plan", plan, "--run-dir", dir)
	if l := reportedLoad(t, dir); l.Failure == nil || l.Failure.Code != runfile.FailureInvalidPlan {
		t.Errorf("load %+v", l)
	}
}

func TestEveryVersionOfNFSIsSpelledInSeveralWays(t *testing.T) {
	t.Parallel()
	spelled := map[string][]string{
		"NFSv3": {"3", "nfsv3", "NFSv3"}, "NFSv4.0": {"4", "4.0", "nfsv4", "NFSv4", "NFSv4.0"}, "NFSv4.1": {"4.1", "nfsv4.1", "NFSv4.1"},
		"pNFS": {"pnfs", "pNFS", "PNFS"},
	}
	at := func(t *testing.T, args ...string) runfile.Engine {
		t.Helper()
		var f loadFlags
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context()) // as Execute does
		f.register(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		p, err := f.plan()
		if err == nil {
			err = p.Validate()
		}
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return p.Engine
	}
	for want, names := range spelled {
		for _, name := range names {
			e := at(t, "--server", "10.0.1.1:2050,10.0.2.1:2050", "--export", "/vol/ora", "--nfs-version", name)
			mountPort := 0
			if want == "NFSv3" {
				mountPort = 2050
			}
			if string(e.NFSVersion) != want || len(e.Channels) != 2 || e.Ports.NFS != 2050 || e.Ports.Mount != mountPort {
				t.Errorf("--nfs-version %s: %+v", name, e)
			}
			if e := at(t, "--mount", "/mnt/oradata", "--nfs-version", name); string(e.NFSVersion) != want {
				t.Errorf("--mount --nfs-version %s: %+v", name, e)
			}
		}
	}
	for given, port := range map[string]int{"fd00::1,fd00:0:0:1::1": 0, "[fd00::1],[fd00:0:0:1::1]": 0, "[fd00::1]:2050,[fd00:0:0:1::1]:2050": 2050} {
		e := at(t, "--server", given, "--export", "/vol/ora")
		if !slices.Equal(e.Channels, runfile.ChannelsTo("fd00::1", "fd00:0:0:1::1")) || e.Ports.NFS != port {
			t.Errorf("--server %s: %+v", given, e)
		}
	}
	for nfsVersion, want := range map[string]string{"nfsv3": "NFSv3", "nfsv4": "NFSv4.0", "nfsv4.1": "NFSv4.1", "pNFS": "pNFS"} {
		tab := filepath.Join(t.TempDir(), "oranfstab")
		text := "server: a\npath: 10.0.1.1\nnfs_version: " + nfsVersion + "\nexport: /vol/ora mount: /mnt/ora\n"
		if err := os.WriteFile(tab, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := at(t, "--oranfstab", tab); string(e.NFSVersion) != want {
			t.Errorf("nfs_version %s: %+v", nfsVersion, e)
		}
	}
}

func TestFlagsBecomeAPlan(t *testing.T) {
	t.Parallel()
	out, _ := runLoad(t, cli.ExitOK, "load", "--server", "10.0.1.1,10.0.2.1", "--export", "/vol/ora", "--pattern", "randwrite",
		"--jobs", "8", "--ops-per-second", "500", "--uid", "54321", "--link", "2.5Gbit/s:9000", "--timeout", "10m", "--print-plan")
	got, err := runfile.ReadPlan(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	want := runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "10.0.1.1:/vol/ora"}, Clients: 1, Seed: 1,
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, RequireNFS: true, Export: "/vol/ora", UserID: new(uint32(54321)),
			NFSVersion: "NFSv3", Server: "load", CallTimeoutSeconds: 600, Channels: runfile.ChannelsTo("10.0.1.1", "10.0.2.1"),
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRandomWrite, FileSize: *bench.Bytes(1 << 30), Jobs: 8, Depth: 8,
			OperationsPerSecond: new(int64(500)), Directory: "nfsbench", ForeignFiles: bench.ForeignFilesRefuse, Verify: bench.VerifyWritten,
		}},
		Schedule: runfile.Schedule{DurationSeconds: 60, WarmupSeconds: 10, BaselineSeconds: 5, CooldownSeconds: 5, Repetitions: 1, TimeoutSeconds: 600},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000},
		Link:     &bench.Link{BitsPerSecond: *bench.Bits(2_500_000_000), MTU: 9000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestProgressIsReadable(t *testing.T) {
	t.Parallel()
	left := int64(75)
	got := barText(runfile.Event{Span: "Measure", Repetition: 2, BytesPerSecond: 117_500_000, OpsPerSecond: 112, ETASeconds: &left})
	if want := "Measure 2  117.5 MB/s  112 IOPS  1m15s left"; got != want {
		t.Errorf("the bar says %q, want %q", got, want)
	}
	var buf bytes.Buffer
	bar, err := newProgress(&buf, "bar")
	if err != nil {
		t.Fatal(err)
	}
	bar(runfile.Event{Span: "Fill", Percent: 42})
	if !strings.Contains(buf.String(), "Fill") || !strings.Contains(buf.String(), "42%") {
		t.Errorf("the bar drew %q", buf.String())
	}
}

// TestAnOranfstabOfALoadIsBounded: the name of a datafile of 512 MiB took 15 GiB.
func TestAnOranfstabOfALoadIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "oranfstab")
	if err := os.WriteFile(file, make([]byte, maxOranfstabBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	args := []string{"load", "--oranfstab", file, "--export", "/x", "--print-plan"}
	code := run(args, strings.NewReader(""), io.Discard, &errs)
	if code != 2 || !strings.Contains(errs.String(), "larger than 1 MiB") {
		t.Errorf("exit code %d: %.200s", code, errs.String())
	}
}
