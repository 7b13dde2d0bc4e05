package kernelnfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The shape of the load. It is small: the guest's processors are emulated.
const (
	jobs      = 2
	depth     = 2
	fileBytes = 16 << 20
	bigFile   = 96 << 20 // of the runs in which the server dies while they fill
)

// mountedVersions are the versions of the mounts, and what plans call them.
func mountedVersions() map[string]string {
	return map[string]string{
		"NFSv3": "NFSv3", "NFSv4.0": "NFSv4.0", "NFSv4.1": "NFSv4.1",
		"NFSv4.2": "", // nothing to declare: it is NFSv4.1's successor in mounts that leave the choice to the client
	}
}

// writePlans writes the plans that guest/run looks for.
func writePlans(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for mounted, declared := range mountedVersions() {
		for _, pattern := range []bench.RawPattern{bench.PatternOverwrite, bench.PatternRandomRead, bench.PatternRandomWrite} {
			p := plan(mounted+"-"+string(pattern), pattern)
			p.Workload.Raw.Directory, p.Keep = mounted, true
			p.Engine = runfile.Engine{
				Client: bench.ClientKernel, NFSVersion: bench.NFSVersion(declared), MountPath: "/mnt/" + mounted, RequireNFS: true,
			}
			writePlan(t, dir, p)
		}
	}
	writeDeclared(t, dir)
	for name, pattern := range map[string]bench.RawPattern{"restart-fill": bench.PatternRandomRead, "restart-overwrite": bench.PatternOverwrite} {
		p := plan(name, pattern)
		p.Engine = direct(t)
		p.Keep = true
		if pattern == bench.PatternOverwrite {
			p.Schedule.DurationSeconds = 6
		} else {
			p.Workload.Raw.FileSize = *bench.Bytes(bigFile)
		}
		writePlan(t, dir, p)
	}
}

func plan(name string, pattern bench.RawPattern) runfile.Plan {
	block := int64(8 << 10)
	if pattern == bench.PatternOverwrite {
		block = 128 << 10
	}
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: name}, Clients: 1, Seed: 1,
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: pattern, BlockSize: bench.Bytes(block), FileSize: *bench.Bytes(fileBytes), Jobs: jobs, Depth: depth, Directory: name,
		}},
		Schedule: runfile.Schedule{DurationSeconds: 3, Repetitions: 1},
		Collect:  runfile.Collect{IntervalMilliseconds: 500},
	}
}

// direct is our own client on two addresses of the guest's server.
func direct(t *testing.T) runfile.Engine {
	t.Helper()
	return runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Server: "server", Export: "/export/data", Channels: runfile.ChannelsTo("127.0.0.1", "127.0.0.2"), RequireNFS: true,
	}
}

func writePlan(t *testing.T, dir string, p runfile.Plan) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, p.Run.Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := runfile.WritePlan(f, p); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
