package kernel

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// threaded is a Target whose kernel gives no queue.
type threaded struct{ *Target }

func (t threaded) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	return newThreads(t.Target, opt.Slots), context.Cause(ctx)
}

func TestConformance(t *testing.T) {
	dir := targettest.DirectIODir(t)
	for name, noQueue := range map[string]bool{"with a queue": false, "with threads": true} {
		t.Run(name, func(t *testing.T) {
			targettest.Run(t, func(tb testing.TB) target.Target {
				tb.Helper()
				tgt, err := Open(t.Context(), Options{MountPath: dir, Now: time.Now})
				if err != nil {
					tb.Fatal(err)
				}
				if noQueue {
					return threaded{tgt.(*Target)} //nolint:errcheck,forcetypeassert // Open makes no other
				}
				return tgt
			})
		})
	}
}

// TestADirectoryThatDoesNotEndIsGivenUp: a server makes its directories as long as it likes.
func TestADirectoryThatDoesNotEndIsGivenUp(t *testing.T) {
	given := 0
	endless := func(n int) ([]string, error) {
		if n <= 0 || given > maxNamesBytes {
			t.Fatalf("%d names are asked for after %d bytes", n, given)
		}
		some := slices.Repeat([]string{strings.Repeat("n", 255)}, n)
		given += n * 255
		return some, nil
	}
	if all, err := readNames(endless); err == nil || !strings.Contains(err.Error(), "does not end") || all != nil {
		t.Errorf("%d names and %v", len(all), err)
	}
}

func TestWhereTheKernelGivesNoQueueThreadsDoTheIO(t *testing.T) {
	raw, err := os.ReadFile("/proc/sys/fs/aio-max-nr")
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || limit > 1<<20 {
		t.Skipf("the limit of this machine is %d (%v)", limit, err)
	}
	s, err := openTest(t).NewStream(t.Context(), target.StreamOptions{Slots: limit + 1, BlockBytes: 4096, Streams: 1})
	if err != nil || s.Threads() != limit+1 {
		t.Errorf("got %T, %v, want a thread for each slot", s, err)
	}
}

func TestAMountThatIsNotNFSIsRefusedByItsName(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Options{MountPath: dir, RequireNFS: true})
	if target.CodeOf(err) != runfile.FailureNotNFS {
		t.Fatalf("got %v, want %s", err, runfile.FailureNotNFS)
	}
	entry := ownMount(t, dir)
	for _, part := range []string{dir, entry.Type, entry.Source, "--allow-non-nfs"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
}

func ownMount(t *testing.T, dir string) procfs.Mount {
	t.Helper()
	mounts, err := procfs.Host().Mounts()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	m, ok := findMount(mounts, dir, st.Dev)
	if !ok {
		t.Fatalf("%s has no mount", dir)
	}
	return m
}

func TestWhatIsMissingOrInTheWayIsNamed(t *testing.T) {
	if _, err := Open(t.Context(), Options{MountPath: "/does/not/exist"}); err == nil || !strings.Contains(err.Error(), "there is no directory /does/not/exist: mount the export there") {
		t.Errorf("a missing mount gave %v", err)
	}
	dir := targettest.DirectIODir(t)
	tgt, err := Open(t.Context(), Options{MountPath: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := tgt.Directory(t.Context(), "link", true); target.CodeOf(err) != runfile.FailureForeignFiles {
		t.Errorf("a link instead of a directory gave %v", err)
	}
	d, err := tgt.Directory(t.Context(), "ours", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "ours", "c0-j0.dat")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "c0-j0.dat", target.OpenOptions{}); target.CodeOf(err) != runfile.FailureForeignFiles {
		t.Errorf("a link instead of a file gave %v", err)
	}
	if _, err := d.Open(t.Context(), "../../../nfsbench-outside", target.OpenOptions{}); err == nil {
		t.Error("a name led out of the mount")
	}
}

func TestFilesAreReallyOpenedPastThePageCache(t *testing.T) {
	tgt, err := Open(t.Context(), Options{MountPath: targettest.DirectIODir(t), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	d, err := tgt.Directory(t.Context(), "d", true)
	if err != nil {
		t.Fatal(err)
	}
	for stable, want := range map[bool]int{true: unix.O_DIRECT | unix.O_DSYNC, false: unix.O_DIRECT} {
		f, err := d.Open(t.Context(), "f", target.OpenOptions{Create: true, Stable: stable})
		if err != nil {
			t.Fatal(err)
		}
		flags, err := unix.FcntlInt(f.(*file).f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&(unix.O_DIRECT|unix.O_DSYNC) != want {
			t.Errorf("stable %v: flags %#x, %v; want %#x", stable, flags, err, want)
		}
		_ = f.Close()
		_ = d.Remove(t.Context(), "f")
	}
}

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:52 / /data rw,relatime shared:20 - nfs 10.0.0.1:/vol/old rw,vers=3,rsize=65536,wsize=65536
41 40 0:53 / /data rw,relatime shared:21 - nfs4 10.0.0.2:/vol/ora\040data rw,vers=4.1,rsize=1048576,wsize=524288,hard,proto=tcp,nconnect=4
42 22 0:53 /sub /elsewhere rw - nfs4 10.0.0.2:/vol/ora\040data rw,vers=4.1
`

func TestTheMountIsFoundAndRead(t *testing.T) {
	cases := map[string]struct {
		reason, path string
		minor        uint32 // of the device
		found        bool
		want         runfile.MountFacts
	}{
		"mounted over": {
			"the device tells two mounts on one point apart", "/data", 53, true,
			runfile.MountFacts{
				FilesystemType: "nfs4", Source: "10.0.0.2:/vol/ora data", NFSVersion: "NFSv4.1",
				ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 19, TotalBytes: 4096 * 100, FreeBytes: 4096 * 40, DirectIO: true,
				Options: strings.Split("rw,relatime,vers=4.1,rsize=1048576,wsize=524288,hard,proto=tcp,nconnect=4", ","),
			},
		},
		"below the point": {
			"a directory of the volume", "/data/a/b", 52, true,
			runfile.MountFacts{
				FilesystemType: "nfs", Source: "10.0.0.1:/vol/old", NFSVersion: "NFSv3",
				ReadSizeBytes: 1 << 16, WriteSizeBytes: 1 << 16, TotalBytes: 4096 * 100, FreeBytes: 4096 * 40, DirectIO: true,
				Options: strings.Split("rw,relatime,vers=3,rsize=65536,wsize=65536", ","),
			},
		},
		"beside the point": {"a name that only begins alike is not below", "/database", 53, false, runfile.MountFacts{}},
		"unknown device":   {"nothing is guessed", "/data", 99, false, runfile.MountFacts{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mounts, err := procfs.ParseMountInfo(strings.NewReader(mountinfo))
			if err != nil {
				t.Fatal(err)
			}
			m, ok := findMount(mounts, tc.path, unix.Mkdev(0, tc.minor))
			if ok != tc.found {
				t.Fatalf("%s: found %v", tc.reason, ok)
			}
			if !ok {
				return
			}
			got := factsOf(m, &unix.Statfs_t{Bsize: 4096, Blocks: 100, Bavail: 40})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
