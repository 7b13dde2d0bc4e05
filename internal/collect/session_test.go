package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// stuckSource answers only when it is told to stop.
type stuckSource struct{}

func (stuckSource) Name() string { return "stuck" }

func (stuckSource) Sample(ctx context.Context) (storage.Snapshot, error) {
	<-ctx.Done()
	return storage.Snapshot{}, ctx.Err()
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// machine is a file tree with one NFS mount.
func machine() fstest.MapFS {
	return fstest.MapFS{
		"proc/stat":            file("cpu 10 0 0 90\ncpu0 10 0 0 90\n"),
		"proc/meminfo":         file("MemTotal: 4 kB\n"),
		"proc/net/dev":         file("eth0: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n"),
		"proc/net/snmp":        file("Tcp: RetransSegs\nTcp: 7\n"),
		"proc/net/netstat":     file("TcpExt: TCPOFOQueue\nTcpExt: 8\n"),
		"proc/self/mountinfo":  file("1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / /data rw - nfs s:/p rw,vers=3\n"),
		"proc/self/mountstats": file("device s:/p mounted on /data with fstype nfs statvers=1.1\n\tbytes: 1 2 3 4 5 6 7 8\n"),
		"proc/self/cgroup":     file("0::/\n"),

		"proc/sys/fs/aio-nr":               file("4352\n"),
		"proc/sys/fs/aio-max-nr":           file("65536\n"),
		"proc/sys/kernel/osrelease":        file("6.1.0\n"),
		"sys/fs/cgroup/cgroup.controllers": file("cpu\n"),
		"sys/fs/cgroup/cpu.stat":           file("usage_usec 8\nthrottled_usec 9\n"),
		"sys/fs/cgroup/cpu.max":            file("50000 100000\n"),
		"sys/fs/cgroup/memory.max":         file("2048\n"),
	}
}

func TestAHostSampleHoldsWhatTheMachineSays(t *testing.T) {
	o := Options{Root: machine(), SameProcess: true, Plan: runfile.Plan{
		Engine: runfile.Engine{Client: bench.ClientKernel, MountPath: "/data/dir"},
	}}
	h := newHostReader(o, func(source string, err error) { t.Errorf("%s: %v", source, err) })
	want := runfile.HostSample{
		Time:                 day,
		NodeBusyMicroseconds: new(int64(100_000)), NodeTotalMicroseconds: new(int64(1_000_000)),
		CgroupCPUMicroseconds: new(int64(8)), CgroupThrottledMicros: new(int64(9)),
		TCPRetransmittedSegment: new(int64(7)), TCPOutOfOrderSegments: new(int64(8)),
		Interfaces: []runfile.InterfaceRead{{Name: "eth0", ReceivedBytes: 5, SentBytes: 6}},
		Mount: &runfile.MountCounters{
			NormalReadBytes: 1, NormalWriteBytes: 2, DirectReadBytes: 3, DirectWriteBytes: 4, ServerReadBytes: 5, ServerWriteBytes: 6,
		},
	}
	if diff := cmp.Diff(want, h.sample(day)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The group of a sidecar is not that of the loader.
	o.SameProcess, o.Plan.Engine.Client = false, bench.ClientDirectNFS
	want.CgroupCPUMicroseconds, want.CgroupThrottledMicros, want.Mount = nil, nil, nil
	beside := newHostReader(o, nil).sample(day)
	if own := beside.CollectorCPUMicroseconds; own == nil || *own <= 0 {
		t.Error("a sidecar does not say what it costs")
	}
	beside.CollectorCPUMicroseconds = nil
	if diff := cmp.Diff(want, beside); diff != "" {
		t.Errorf("in a sidecar (-want +got):\n%s", diff)
	}
}

// TestTheMountBesideOraclesDirectNFSIsWatched: that it stays flat is evidence.
func TestTheMountBesideOraclesDirectNFSIsWatched(t *testing.T) {
	for kind, watched := range map[string]bool{runfile.DatabaseContainer: true, runfile.DatabaseExternal: false} {
		o := Options{Root: machine(), Plan: runfile.Plan{
			Engine: runfile.Engine{Client: bench.ClientDirectNFS, MountPath: "/data/dir"}, Database: &runfile.Database{Kind: kind},
		}}
		sample := newHostReader(o, func(string, error) {}).sample(day)
		got := sample.Mount
		if (got != nil) != watched || watched && got.ServerReadBytes != 5 {
			t.Errorf("%s: the mount counted %+v", kind, got)
		}
		if a := sample.AsyncIO; (a != nil) != watched || watched && *a != (runfile.AsyncIO{Requests: 4352, Limit: 65_536}) {
			t.Errorf("%s: asynchronous I/O %+v", kind, a)
		}
		if cores := sample.Cores; (len(cores) == 1) != watched || watched && cores[0].BusyMicroseconds != 100_000 {
			t.Errorf("%s: cores %+v", kind, cores)
		}
	}
}

// TestTheMountOfTheRedoLogsCountsToo, once where the two exports are one file system.
func TestTheMountOfTheRedoLogsCountsToo(t *testing.T) {
	const rest = "\txprt: tcp 0 0 1 0 0 7 7 0 0 0\n\tper-op statistics\n READ: 3 5 0 0\n"
	for name, c := range map[string]struct {
		device     string
		want, sent int64
	}{"another file system": {"0:10", 5 + 50, 5 + 5}, "the same": {"0:9", 5, 5}} {
		m := machine()
		m["proc/self/mountinfo"] = file("1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / /data rw - nfs s:/p rw\n3 1 " + c.device + " / /redo rw - nfs s:/r rw\n")
		m["proc/self/mountstats"] = file("device s:/p mounted on /data with fstype nfs statvers=1.1\n\tbytes: 1 2 3 4 5 6 7 8\n" + rest +
			"device s:/r mounted on /redo with fstype nfs statvers=1.1\n\tbytes: 10 20 30 40 50 60 70 80\n" + rest)
		h := newHostReader(Options{Root: m, Plan: runfile.Plan{
			Engine:   runfile.Engine{Client: bench.ClientKernel, MountPath: "/data"},
			Database: &runfile.Database{Kind: runfile.DatabaseContainer, RedoDirectory: "/redo"},
		}}, func(source string, err error) { t.Errorf("%s: %v", source, err) })
		for range 2 { // where the mounts are is asked once
			if got := h.sample(day).Mount; got == nil || got.ServerReadBytes != c.want || len(got.Operations) != 1 || got.Operations[0].Transmissions != c.sent || len(got.Transports) != 1 {
				t.Errorf("%s: %+v, want %d bytes read and %d calls sent", name, got, c.want, c.sent)
			}
		}
	}
}

func TestWhatCannotBeReadIsAProblemAndStaysUnknown(t *testing.T) {
	got := map[string]string{}
	o := Options{SameProcess: true, Root: fstest.MapFS{"proc/self/mountinfo": file("1 0 8:1 / / rw - ext4 /dev/sda rw\n")}, Plan: runfile.Plan{
		Engine: runfile.Engine{Client: bench.ClientKernel, MountPath: "/data"},
	}}
	h := newHostReader(o, func(source string, err error) { got[source] = err.Error() })
	if diff := cmp.Diff(runfile.HostSample{Time: day}, h.sample(day)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := map[string]string{
		"host cpu":       "open proc/stat: file does not exist",
		"host network":   "open proc/net/dev: file does not exist",
		"host tcp":       "open proc/net/snmp: file does not exist",
		"host tcp order": "open proc/net/netstat: file does not exist",
		"mountstats":     `"/data" is on ext4, not on NFS: there are no mount counters`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestHostFactsGiveTheLimitsOnlyOfTheLoadsOwnGroup(t *testing.T) {
	proc := procfs.Reader{Root: machine()}
	own := HostFacts(proc, true)
	if own.CPUs != 1 || own.Kernel != "6.1.0" || own.Name == "" || own.MemoryBytes != 2048 || own.CPULimit == nil || *own.CPULimit != 0.5 {
		t.Errorf("own group: %+v", own)
	}
	if other := HostFacts(proc, false); other.CPULimit != nil || other.MemoryBytes != 4096 {
		t.Errorf("another group: %+v", other)
	}
}

func sessionOptions(sources ...storage.Source) Options {
	return Options{
		Plan: runfile.Plan{Collect: runfile.Collect{IntervalMilliseconds: 10}},
		Now:  time.Now, Log: slog.New(slog.DiscardHandler), Root: machine(), Sources: sources,
	}
}

func TestASlowSourceDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &storagetest.Fake{}
		s := Start(t.Context(), sessionOptions(stuckSource{}, fake))
		waitFor(t, "samples of the others", func() bool {
			o := s.Observe(runfile.Load{})
			return len(o.Samples) > 3 && len(o.Storage) > 3
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		observed := s.Finish(ctx, runfile.Load{})
		if len(observed.Problems) != 0 {
			t.Errorf("being stopped is no problem of the source: %+v", observed.Problems)
		}
		for _, sample := range observed.Storage {
			if sample.Source != "fake" {
				t.Errorf("sample of %q", sample.Source)
			}
		}
	})
}

func TestFailuresOfASourceAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &storagetest.Fake{}
		fake.Fail(errors.New("first"))
		s := Start(t.Context(), sessionOptions(fake))
		waitFor(t, "a problem", func() bool { return len(s.Observe(runfile.Load{}).Problems) == 1 })
		since := s.Observe(runfile.Load{}).Problems[0].Since
		fake.Fail(errors.New("second"))
		waitFor(t, "another", func() bool {
			p := s.Observe(runfile.Load{}).Problems[0]
			return p.Message == "second" && p.Count > 1 && p.Since.Equal(since) && p.Source == "fake"
		})
		fake.Fail(nil)
		o := s.Finish(t.Context(), runfile.Load{})
		if len(o.Problems) != 1 || len(o.Storage) == 0 {
			t.Errorf("problems %+v, %d samples after it went well again", o.Problems, len(o.Storage))
		}
	})
}

// TestAServiceThatWasJustMadeMayRefuseAtFirst: a node knows it a moment later. One
// that answered before and refuses then is a failure at once.
func TestAServiceThatWasJustMadeMayRefuseAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("read counters: %w", syscall.ECONNREFUSED)
		fake := &storagetest.Fake{}
		fake.Fail(refused)
		s := Start(t.Context(), sessionOptions(fake))
		time.AfterFunc(2*firstPause, func() { fake.Fail(nil) })
		waitFor(t, "a sample", func() bool { return len(s.Observe(runfile.Load{}).Storage) > 0 })
		if p := s.Observe(runfile.Load{}).Problems; len(p) != 0 {
			t.Errorf("problems %+v", p)
		}
		fake.Fail(refused)
		waitFor(t, "a problem", func() bool { return len(s.Observe(runfile.Load{}).Problems) == 1 })
		s.Finish(t.Context(), runfile.Load{})
	})
}

func TestFinishTakesALastSampleAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := sessionOptions(&storagetest.Fake{})
		o.Plan.Collect.IntervalMilliseconds = 3_600_000
		s := Start(t.Context(), o)
		waitFor(t, "the first sample", func() bool { o := s.Observe(runfile.Load{}); return len(o.Samples) == 1 && len(o.Storage) == 1 })
		s.Mark()
		waitFor(t, "the sample at the mark", func() bool { o := s.Observe(runfile.Load{}); return len(o.Samples) == 2 && len(o.Storage) == 2 })
		for range 2 {
			if o := s.Finish(t.Context(), runfile.Load{}); len(o.Samples) != 3 || len(o.Storage) != 3 {
				t.Errorf("%d and %d samples, want 3 each", len(o.Samples), len(o.Storage))
			}
		}
	})
}

func TestSourcesOfThePlanBearItsNames(t *testing.T) {
	problems := map[string]string{}
	o := Options{Plan: runfile.Plan{Collect: runfile.Collect{Sources: []runfile.Source{
		{Kind: runfile.SourceEmbedded, Name: "server", URL: "http://127.0.0.1:1"},
		{Kind: "other", Name: "odd"},
		{Kind: runfile.SourceEmbedded, Name: "bad", URL: "x"},
	}}}}
	got := planSources(o, func(source string, err error) { problems[source] = err.Error() })
	if len(got) != 1 || got[0].Name() != "server" {
		t.Errorf("sources %v", got)
	}
	if len(problems) != 2 || problems["odd"] != `source kind "other" is not known` {
		t.Errorf("problems %v", problems)
	}
}

func TestHealthTellsWhetherSamplesAreTaken(t *testing.T) {
	now := day
	s := &Session{opt: Options{Now: func() time.Time { return now }}}
	ask := func() int {
		w := httptest.NewRecorder()
		s.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
		return w.Code
	}
	s.hosts.limit = 10
	s.hosts.add(runfile.HostSample{Time: day}, false)
	if code := ask(); code != 200 {
		t.Errorf("fresh: %d", code)
	}
	now = day.Add(time.Minute)
	if code := ask(); code != 503 {
		t.Errorf("a minute old: %d", code)
	}
	s.finished = true
	if code := ask(); code != 200 {
		t.Errorf("finished: %d", code)
	}
}

// A mount that was mounted again has other counters: the window lacks them, and the result says why.
func TestAMountThatWasMountedAgainIsAProblem(t *testing.T) {
	m := machine()
	stats := func(bytes string) *fstest.MapFile {
		return file("device s:/p mounted on /data with fstype nfs statvers=1.1\n\tbytes: 1 2 3 4 " + bytes + " 6 7 8\n")
	}
	s := &Session{opt: Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)}, hosts: series[runfile.HostSample]{limit: 9}}
	s.host = newHostReader(Options{Root: m, Plan: runfile.Plan{Engine: runfile.Engine{Client: bench.ClientKernel, MountPath: "/data"}}}, s.problem)
	for _, c := range []struct {
		bytes    string
		problems int
	}{{"50", 0}, {"60", 0}, {"60", 0}, {"5", 1}, {"9", 1}} {
		m["proc/self/mountstats"] = stats(c.bytes)
		s.takeHost(t.Context(), false)
		if p := s.problems.snapshot(); len(p) != c.problems || len(p) > 0 && (p[0].Source != "mountstats" || !strings.Contains(p[0].Message, "mounted again") || p[0].Count != 1) {
			t.Errorf("after %s bytes: %+v", c.bytes, p)
		}
	}
}
