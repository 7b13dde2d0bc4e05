package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab"
)

// storageFaults are those of an array, which each of them has to itself.
func storageFaults() map[string]func(*plot) {
	return map[string]func(*plot){
		"one LIF of two falls silent and comes back": loseLIF,
		"both LIFs fall silent":                      loseBothLIFs,
		"the server is killed while it writes":       killServer,
		"the disk is full":                           fillDisk,
	}
}

// on puts a run on another array than that of the farm.
func on(a lab.Array) gen.Mod { return gen.Export(a.Export, a.LIFs...) }

func overwrite(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.Pattern = v1alpha1.PatternOverwrite }

func loseLIF(p *plot) {
	t := p.t
	a := lab.Start(t, "flap", []string{"10.235.1.0/24", "10.235.2.0/24"}, "--rate", "100mbit")
	b := p.run(t, on(a), lasting(25), fileSize("32Mi"))
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	time.Sleep(3 * time.Second)
	a.Cut(t, 2)
	time.Sleep(8 * time.Second)
	a.Heal(t, 2)
	done := p.undisturbed(t, b)
	rep := p.results(t, done)[0].Clients[0].Load.Repetitions[0]
	if rep.Read.Errors != 0 {
		t.Errorf("%d I/Os failed although a path was left", rep.Read.Errors)
	}
	const lost = judge.Code("ChannelLost")
	if !slices.Contains(judge.Codes(), lost) {
		t.Log("there is no finding ChannelLost to look for")
		return
	}
	f := finding(done, string(lost))
	if f == nil {
		t.Fatalf("no finding %s: %+v", lost, done.Status.Findings)
	}
	mustSay(t, f.Message, a.LIFs[1], " s")
}

func loseBothLIFs(p *plot) {
	t := p.t
	a := lab.Start(t, "dark", []string{"10.236.1.0/24", "10.236.2.0/24"}, "--rate", "100mbit")
	b := p.run(t, on(a), lasting(120))
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	time.Sleep(3 * time.Second)
	a.Cut(t, 1)
	a.Cut(t, 2)
	const callTimeout = 30 * time.Second // which plans give a call
	failed := p.finished(t, b, callTimeout+endsWithin)
	a.Heal(t, 1)
	a.Heal(t, 2)
	if r := reasonOf(failed); r != runfile.FailureIO && r != runfile.FailureUnreachable {
		t.Errorf("reason %s", r)
	}
	wantFailure(t, failed, reasonOf(failed), a.LIFs[0], a.LIFs[1])
	p.cleanedUp(t, b)
	array{folder: a.Data}.hasNo(t, p.directory())
}

func killServer(p *plot) {
	t := p.t
	a := lab.Start(t, "restart", []string{"10.237.1.0/24", "10.237.2.0/24"}, "--rate", "100mbit")
	b := p.run(t, on(a), lasting(20), fileSize("32Mi"), overwrite)
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	time.Sleep(3 * time.Second)
	restartServer(t, a, 4*time.Second)
	done := p.undisturbed(t, b) // all blocks that were written are right
	rep := p.results(t, done)[0].Clients[0].Load.Repetitions[0]
	if rep.Write.Errors != 0 {
		t.Errorf("%d writes failed although the server came back", rep.Write.Errors)
	}
	array{folder: a.Data}.hasNo(t, p.directory())
}

// restartServer kills the NFS server of an array without warning, and starts
// it again after a while with the same command.
func restartServer(t *testing.T, a lab.Array, away time.Duration) {
	t.Helper()
	files := filepath.Join(filepath.Dir(a.Data), "run")
	server, env := pidFile(t, filepath.Join(files, "ganesha.pid")), pidFile(t, filepath.Join(files, "rpcbind.pid"))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server))
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	send(t, server, syscall.SIGKILL)
	time.Sleep(away)
	again := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(env), "-m", "-n"}, args...)...)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = again.Process.Kill()
		_ = again.Wait()
	})
}

// pidFile reads a file that hack/lib/process.sh has written.
func pidFile(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	word, _, _ := bytes.Cut(text, []byte(" "))
	pid, err := strconv.Atoi(strings.TrimSpace(string(word)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// smallDisk is a folder with a file system of 192 MiB of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=192m,mode=1777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	return disk
}

// fillDisk lets somebody else take the last blocks of a file system while the
// run fills its file. It looked large enough before.
func fillDisk(p *plot) {
	t := p.t
	disk := smallDisk(t)
	a := lab.Start(t, "full", []string{"10.238.1.0/24"}, "--rate", "100mbit", "--data", disk)
	b := p.run(t, on(a), fileSize("128Mi"))
	p.running(t, b, 1)[0].await(t, runfile.SpanFill)
	if err := os.WriteFile(filepath.Join(disk, "others"), make([]byte, 150<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := p.finished(t, b, endsWithin)
	wantFailure(t, failed, runfile.FailureNoSpace, "space")
	p.cleanedUp(t, b)
	array{folder: disk}.hasNo(t, p.directory())
}
