package fileset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/kernel"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// overDirectNFS mounts a directory that the embedded server serves.
func overDirectNFS(t *testing.T, dir string) target.Target {
	t.Helper()
	return overAServer(t, server.Options{Dir: dir})
}

func overAServer(t *testing.T, opt server.Options) target.Target {
	t.Helper()
	opt.Listen, opt.Now = []string{"127.0.0.1:0"}, time.Now
	s, err := server.New(opt)
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
	_, text, err := net.SplitHostPort(s.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := direct.Open(t.Context(), direct.Options{Now: time.Now, Engine: runfile.Engine{
		Client: bench.ClientDirectNFS, Server: "lab", Export: "/export", Channels: runfile.ChannelsTo("127.0.0.1"),
		Ports: runfile.Ports{NFS: port, Mount: port}, MountTimeoutSeconds: 3600,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tgt.Close() })
	return tgt
}

func overAMount(t *testing.T, dir string) target.Target {
	t.Helper()
	tgt, err := kernel.Open(t.Context(), kernel.Options{MountPath: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tgt.Close() })
	return tgt
}

// attempt prepares, fills and opens the files of a run, and writes a block of each. It returns the first error.
func attempt(ctx context.Context, tgt target.Target, spec Spec) error {
	s, err := Prepare(ctx, tgt, spec)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Fill(ctx, func(int64) {}); err != nil {
		return err
	}
	jobs, err := s.Open(ctx)
	if err != nil {
		return err
	}
	arena, err := target.NewArena(1, blockSize)
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	for _, j := range jobs {
		if err := j.Main.WriteAt(ctx, arena.Buffer(0), 0); err != nil {
			return err
		}
	}
	return nil
}

// TestNoFileOfOthersIsWritten: somebody who may make files in the directory gives a file of this user, which they may
// not write, the name of one of ours.
func TestNoFileOfOthersIsWritten(t *testing.T) {
	whole, err := json.Marshal(marker{
		Tool: markerTool, Version: markerVersion, Seed: 7, FileSizeBytes: size, Complete: []string{"c0-j0.dat", "c0-j1.dat"},
	})
	if err != nil {
		t.Fatal(err)
	}
	link := func(name string) func(dir, precious string) error {
		return func(dir, precious string) error { return os.Link(precious, filepath.Join(dir, name)) }
	}
	write := func(name, text string) func(dir, precious string) error {
		return func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	all := func(steps ...func(dir, precious string) error) func(dir, precious string) error {
		return func(dir, precious string) error {
			for _, s := range steps {
				if err := s(dir, precious); err != nil {
					return err
				}
			}
			return nil
		}
	}
	softly := func(name string) func(dir, precious string) error {
		return func(dir, precious string) error { return os.Symlink(precious, filepath.Join(dir, name)) }
	}
	cases := map[string]struct {
		reason  string
		leave   func(dir, precious string) error
		allow   bool
		refused string // in the error; empty = the run goes on without touching it
	}{
		"half a marker, and the file as our marker": {
			"18 bytes made the directory ours", all(write("nfsbench-c9.json", `{"tool":"nfsbench"`), link("nfsbench-c0.json")), false,
			"nfsbench-c",
		},
		"a whole marker, and the file as our marker": {
			"anybody can copy one", all(write("nfsbench-c9.json", string(whole)), link("nfsbench-c0.json")), false,
			"nfsbench-c0.json",
		},
		"the file as a kept data file": {
			"the marker says that it is complete", all(write("nfsbench-c0.json", string(whole)), link("c0-j0.dat")), false, "c0-j0.dat",
		},
		"a kept data file that is a link": {
			"no link is followed", all(write("nfsbench-c0.json", string(whole)), softly("c0-j0.dat")), false, "c0-j0.dat",
		},
		"a marker that is a link": {"no link is followed", softly("nfsbench-c0.json"), false, "nfsbench-c0.json"},
		"the file as a marker that is being written": {
			"it is made anew", link("nfsbench-c0.json.part"), false, "",
		},
		"a link as a marker that is being written": {
			"it is made anew", softly("nfsbench-c0.json.part"), false, "",
		},
		"the file as a data file that no marker names": {
			"it is made anew", all(write("nfsbench-c9.json", string(whole)), link("c0-j0.dat")), false, "",
		},
		"all of it, allowed": {
			"the user may let us take a directory, and still no other file changes",
			all(write("nfsbench-c0.json", "no marker"), link("c0-j0.dat"), link("c0-j1.dat")), true, "",
		},
	}
	for engine, open := range map[string]func(*testing.T, string) target.Target{
		"Direct NFS": overDirectNFS, "a mount": overAMount,
	} {
		for name, tc := range cases {
			t.Run(engine+"/"+name, func(t *testing.T) {
				base := targettest.DirectIODir(t)
				dir, precious := filepath.Join(base, "d"), filepath.Join(base, "system01.dbf")
				before := bytes.Repeat([]byte("precious"), size/8)
				if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(precious, before, 0o600), tc.leave(dir, precious)); err != nil {
					t.Fatal(err)
				}
				err := attempt(t.Context(), open(t, base), testSpec(func(s *Spec) { s.Writes, s.OverwriteExisting = true, tc.allow }))
				switch {
				case tc.refused == "" && err != nil:
					t.Errorf("%s: %v", tc.reason, err)
				case tc.refused != "" && (target.CodeOf(err) != runfile.FailureForeignFiles || !strings.Contains(err.Error(), tc.refused)):
					t.Errorf("%s: %v", tc.reason, err)
				}
				if after, err := os.ReadFile(precious); err != nil || !bytes.Equal(after, before) {
					t.Errorf("%s, and a file of others has changed (%v)", tc.reason, err)
				}
			})
		}
	}
}

// TestAMarkerThatWasLinkedAfterItWasWrittenIsReplaced: a second name of our own marker keeps what it was.
func TestAMarkerThatWasLinkedAfterItWasWrittenIsReplaced(t *testing.T) {
	for engine, open := range map[string]func(*testing.T, string) target.Target{
		"Direct NFS": overDirectNFS, "a mount": overAMount,
	} {
		t.Run(engine, func(t *testing.T) {
			base := targettest.DirectIODir(t)
			s, err := Prepare(t.Context(), open(t, base), testSpec())
			if err != nil {
				t.Fatal(err)
			}
			name, other := filepath.Join(base, "d", "nfsbench-c0.json"), filepath.Join(base, "other")
			if err := os.Link(name, other); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Fill(t.Context(), func(int64) {}); err != nil {
				t.Fatal(err)
			}
			after, err1 := os.ReadFile(other)
			now, err2 := os.ReadFile(name)
			if err := errors.Join(err1, err2); err != nil || !bytes.Equal(before, after) || !bytes.Contains(now, []byte("c0-j1.dat")) {
				t.Errorf("the other name has %.80q, the marker %.80q, %v", after, now, err)
			}
			if done, err := s.Clean(t.Context()); err != nil || !done.DirectoryGone {
				t.Errorf("clean: %+v, %v", done, err)
			}
		})
	}
}

// TestADirectoryThatIsSwappedForALinkIsNotCleaned: the directory of a run becomes a link to that of others, who have a
// file with the name of one of ours.
func TestADirectoryThatIsSwappedForALinkIsNotCleaned(t *testing.T) {
	for engine, open := range map[string]func(*testing.T, string) target.Target{
		"Direct NFS": overDirectNFS, "a mount": overAMount,
	} {
		t.Run(engine, func(t *testing.T) {
			base := targettest.DirectIODir(t)
			dir, other := filepath.Join(base, "d"), filepath.Join(base, "other")
			s, err := Prepare(t.Context(), open(t, base), testSpec())
			if err == nil {
				err = s.Fill(t.Context(), func(int64) {})
			}
			if err != nil {
				t.Fatal(err)
			}
			theirs := filepath.Join(other, "c0-j0.dat")
			if err := errors.Join(
				os.Mkdir(other, 0o755), os.WriteFile(theirs, nil, 0o600), os.Rename(dir, dir+"-moved"), os.Symlink("other", dir),
			); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Clean(t.Context()) // with NFS the handle still leads to our directory
			if _, err := os.Stat(theirs); err != nil {
				t.Errorf("a file of others is gone: %v", err)
			}
		})
	}
}

// TestAFileThatIsSwappedBetweenTwoLooksIsRefused: the name leads to our file when its attributes are asked for, and to
// that of others when it is opened.
func TestAFileThatIsSwappedBetweenTwoLooksIsRefused(t *testing.T) {
	base := targettest.DirectIODir(t)
	if err := attempt(t.Context(), overDirectNFS(t, base), testSpec()); err != nil {
		t.Fatal(err)
	}
	precious, name := filepath.Join(base, "system01.dbf"), filepath.Join(base, "d", "c0-j0.dat")
	before := bytes.Repeat([]byte("precious"), size/8)
	if err := errors.Join(os.WriteFile(precious, before, 0o600), os.Link(precious, filepath.Join(base, "d", "next"))); err != nil {
		t.Fatal(err)
	}
	found, swapped := false, false // calls on names come one after the other
	tgt := overAServer(t, server.Options{Dir: base, Intercept: func(c server.Call, execute func() []byte) ([]byte, error) {
		reply := execute()
		found = found || c.Program == v3.Program && c.Procedure == v3.ProcLookup && bytes.Contains(c.Arguments, []byte("c0-j0.dat"))
		if c.Program == v3.Program && c.Procedure == v3.ProcGetattr && found && !swapped {
			swapped = true
			if err := errors.Join(os.Rename(name, name+"-moved"), os.Rename(filepath.Join(base, "d", "next"), name)); err != nil {
				t.Error(err)
			}
		}
		return reply, nil
	}})
	err := attempt(t.Context(), tgt, testSpec(func(s *Spec) { s.Writes = true }))
	if after, err := os.ReadFile(precious); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a file of others has changed (%v)", err)
	}
	if !swapped || target.CodeOf(err) != runfile.FailureForeignFiles {
		t.Errorf("swapped %v, %v", swapped, err)
	}
}
