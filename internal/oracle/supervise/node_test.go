package supervise

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// TestWhatAKilledInstanceLeftInMemoryIsRemoved before the next start: STARTUP takes it for an instance.
func TestWhatAKilledInstanceLeftInMemoryIsRemoved(t *testing.T) {
	t.Parallel()
	me, other := os.Getuid(), os.Getuid()+1
	for name, tc := range map[string]struct {
		attached int // processes, to the second segment
		want     []string
	}{
		"all have ended": {0, []string{"sem 3", "shm 7", "shm 8"}},
		"one uses it":    {1, []string{"shm 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.proc("sysvipc/shm", fmt.Sprintf("       key      shmid perms       size  cpid  lpid nattch   uid   gid\n"+
				"         1          7   600       4096     9     9      0 %5d     0\n"+
				"         2          8   600       4096     9     9  %5d %5d     0\n"+
				"         2          9   600       4096     9     9      0 %5d     0\n", me, tc.attached, me, other))
			i.proc("sysvipc/sem", fmt.Sprintf("       key      semid perms      nsems   uid   gid\n 1 3 600 4 %d 0\n 1 4 600 4 %d 0\n", me, other))
			var removed []string
			i.o.removeIPC = func(kind string, id int) error {
				removed = append(removed, fmt.Sprint(kind, " ", id))
				return nil
			}
			i.start().ready(1)
			slices.Sort(removed)
			if diff := cmp.Diff(tc.want, removed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheNodeMayMakeADatabaseSlow, which the doctor and the run say.
func TestTheNodeMayMakeADatabaseSlow(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	s := &faulty.Server{MaxTransfer: 64 << 10}
	s.Start(t, "127.0.0.1")
	i.direct(bench.NFSv3, "/export", s.Port(), "127.0.0.1")
	i.proc("self/mountinfo", "1 0 0:1 / "+i.data+" rw - nfs 10.0.1.61:/export rw,vers=3,wsize=262144\n")
	i.proc("self/root/sys/fs/cgroup/pids.max", "512\n")
	i.o.Processes = 600
	small := runfile.SocketBuffers{ReceiveBytes: 4 << 20, SendBytes: 212992}
	i.o.buffers = func() (runfile.SocketBuffers, error) { return small, nil }
	checks := Examine(t.Context(), i.o)
	expect(t, checks, checkBuffers, runfile.CheckWarn, "208 KiB to send", "net.core.wmem_max")
	expect(t, checks, checkProcesses, runfile.CheckWarn, "512 processes", "600")
	if !has(checks, checkServer, runfile.CheckWarn, "65536 bytes") {
		t.Errorf("no warning of the transfer size: %+v", checks)
	}
	r := i.start()
	host := r.ready(1).Host
	if host.SocketBuffers == nil || *host.SocketBuffers != small || len(host.Servers) != 1 || host.Servers[0].WriteMaxBytes != 64<<10 {
		t.Errorf("host %+v", host)
	}
	for _, want := range []string{"208 KiB to send", "512 processes", "wsize=262144"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log of the run lacks %q:\n%s", want, r.log)
		}
	}
	i.o.Processes, small = 512, runfile.SocketBuffers{ReceiveBytes: 1 << 20, SendBytes: 1 << 20}
	if text := i.o.fewProcesses() + smallBuffers(small) + i.o.smallWrites([]runfile.ServerProbe{{WriteMaxBytes: 256 << 10}}); text != "" {
		t.Errorf("enough is said to be %q", text)
	}
}

// TestAnInstanceWithoutTheParameterMayHaveTooManyProcessesToo: the image has a default.
func TestAnInstanceWithoutTheParameterMayHaveTooManyProcessesToo(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	for pids, warns := range map[string][2]bool{"150": {true, true}, "200": {false, true}, "300": {}, "max": {}} {
		i.proc("self/root/sys/fs/cgroup/pids.max", pids+"\n")
		i.o.DirectNFS = false
		for n, env := range []string{"", "INIT_PROCESSES=300"} {
			o := i.o
			o.Env = append(slices.Clone(o.Env), env)
			if text := o.fewProcesses(); (text != "") != warns[n] || strings.Contains(text, " at least") != (warns[n] && n == 0) {
				t.Errorf("pids.max %s, %q: %q", pids, env, text)
			}
		}
	}
}

func TestTheKernelGrantsBuffers(t *testing.T) {
	t.Parallel()
	if b, err := grantedBuffers(); err != nil || b.ReceiveBytes <= 0 || b.SendBytes <= 0 {
		t.Errorf("%+v, %v", b, err)
	}
}
