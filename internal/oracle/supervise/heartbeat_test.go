package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestASecondDatabaseOnAVolumeDoesNotStart while the first one lives, starts when it has ended,
// and when its pod is dead and left its heartbeat.
func TestASecondDatabaseOnAVolumeDoesNotStart(t *testing.T) {
	t.Parallel()
	first, second := newImage(t), newImage(t)
	first.o.Owner, first.o.HeartbeatInterval = "ns/a", 20*time.Millisecond
	// The first one counts as dead after a minute without a heartbeat: its disk may be slow.
	second.o.Owner, second.o.HeartbeatInterval = "ns/b", 7*time.Second
	second.o.DataDirectory = first.data
	r := first.start()
	r.ready(1)
	second.fails(runfile.FailureVolumeInUse, `benchmark "ns/a"`, "another volume")
	r.ends()
	if _, err := os.Lstat(filepath.Join(first.data, HeartbeatFile)); !os.IsNotExist(err) {
		t.Errorf("an orderly end leaves the heartbeat: %v", err)
	}
	dead := filepath.Join(first.data, HeartbeatFile)
	if err := os.WriteFile(dead, []byte("ns/a\n00000000000000000007\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second.o.HeartbeatInterval = 20 * time.Millisecond
	second.startAndEnd(1)
}

// TestADatabaseEndsWhenAnotherTakesItsVolume, as a pod that was cut off and comes back finds.
func TestADatabaseEndsWhenAnotherTakesItsVolume(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Owner, i.o.HeartbeatInterval = "ns/a", 20*time.Millisecond
	r := i.start()
	r.ready(1)
	other := i.o
	other.Owner = "ns/b"
	var err error
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for n, ended := 1, false; !ended; n++ {
		// Again and again, as a database does: the first one may write over a single heartbeat.
		if err := other.writeHeartbeat(n, 0); err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-r.done:
			r.done <- err // for the clean-up
			ended = true
		case <-tick.C:
		case <-deadline:
			t.Fatal("it does not end")
		}
	}
	if err == nil || !strings.HasPrefix(err.Error(), runfile.FailureVolumeInUse) {
		t.Errorf("ended with %v", err)
	}
	if owner, _ := other.readHeartbeat(); owner != "ns/b" {
		t.Errorf("the heartbeat of the other is now that of %q", owner)
	}
}

// TestAHeartbeatIsReadAsAStrangersFile: links and devices are not followed, and little is read.
func TestAHeartbeatIsReadAsAStrangersFile(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	path := filepath.Join(i.data, HeartbeatFile)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	if owner, text := i.o.readHeartbeat(); owner != "" || text != "" {
		t.Errorf("a link is read: %q", text)
	}
	if err := i.o.takeVolume(t.Context()); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a link is written through, or not explained: %v", err)
	}
	i.remove(path)
	if err := os.WriteFile(path, []byte("\x1b[2Jpod\n"+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if owner, text := i.o.readHeartbeat(); owner != "?[2Jpod" || len(text) > maxHeartbeat {
		t.Errorf("owner %q, %d bytes read", owner, len(text))
	}
}

// looks waits until it looks whether another database uses its volume.
func (r *running) looks() {
	r.t.Helper()
	r.until("a look", func() bool { return strings.Contains(r.log.String(), "Looking whether another database") })
}

// TestADatabaseThatEndsWhileItLooksTakesNothing from the one that runs.
func TestADatabaseThatEndsWhileItLooksTakesNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	other := i.o
	other.Owner = "ns/a"
	if err := other.writeHeartbeat(1, 0); err != nil {
		t.Fatal(err)
	}
	i.o.Owner, i.o.HeartbeatInterval = "ns/b", time.Minute
	r := i.start()
	r.looks()
	r.ends()
	if owner, _ := other.readHeartbeat(); owner != "ns/a" {
		t.Errorf("the heartbeat is that of %q now", owner)
	}
	if strings.Contains(i.log.String(), "Starting the database") {
		t.Error("it started the database")
	}
}

// TestOfTwoDatabasesThatStartAtOnceOneTakesTheVolume: both find no heartbeat.
func TestOfTwoDatabasesThatStartAtOnceOneTakesTheVolume(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	taken := make(chan error)
	for _, owner := range []string{"ns/a", "ns/b", "ns/c", "ns/d"} {
		o := i.o
		o.Owner, o.HeartbeatInterval = owner, time.Millisecond
		go func() { taken <- o.writeHeartbeat(0, os.O_EXCL) }()
	}
	won := 0
	for range 4 {
		if <-taken == nil {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d took the volume", won)
	}
}
