package fileset

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// afterList is a directory where something happens just after it was listed.
type afterList struct {
	target.Directory
	then func()
}

func (d *afterList) List(ctx context.Context) ([]string, error) {
	names, err := d.Directory.List(ctx)
	d.then()
	return names, err
}

func TestTwoClientsThatCleanUpAtOnceLeaveNoDirectory(t *testing.T) {
	tgt := &targettest.Memory{}
	one, _ := filled(t, tgt, testSpec())
	two, _ := filled(t, tgt, testSpec(func(s *Spec) { s.Client = 1 }))
	one.dir = &afterList{one.dir, func() {
		if _, err := two.Clean(t.Context()); err != nil {
			t.Errorf("the second client's clean-up: %v", err)
		}
	}}
	done, err := one.Clean(t.Context())
	if err != nil || !done.DirectoryGone || len(done.Left) > 0 {
		t.Errorf("the first client's clean-up: %+v, %v", done, err)
	}
}

// TestAMarkerIsReplacedWhileAnotherClientReadsIt: the handle that the reader has is that of the file that was there
// before.
func TestAMarkerIsReplacedWhileAnotherClientReadsIt(t *testing.T) {
	const markerOfOther = "nfsbench-c0.json"
	tests := map[string]struct {
		stale int // reads of the marker that find their file gone
		ok    bool
	}{
		"when its client prepares and when it is full": {2, true},
		"without an end": {1000, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tgt := &targettest.Memory{}
			filled(t, tgt, testSpec())
			reads := 0
			tgt.BeforeIO = func(op, name string, _ int64) error {
				if op != "read" || name != markerOfOther {
					return nil
				}
				reads++
				if reads > tt.stale {
					return nil
				}
				return fmt.Errorf("read: %w", syscall.ESTALE)
			}
			_, err := Prepare(t.Context(), tgt, testSpec(func(s *Spec) { s.Client = 1 }))
			if tt.ok != (err == nil) || reads > 10 {
				t.Errorf("after %d reads: %v", reads, err)
			}
		})
	}
}

// pinned is storage where the directory belongs to somebody else.
type pinned struct{ *targettest.Memory }

func (pinned) RemoveDirectory(context.Context, string) error {
	return target.Fail(runfile.FailureAccessDenied, "remove directory: not permitted", nil)
}

func TestADirectoryThatAnAdministratorMadeStays(t *testing.T) {
	s, _ := filled(t, pinned{&targettest.Memory{}}, testSpec())
	done, err := s.Clean(t.Context())
	if err != nil || done.DirectoryGone || len(done.Removed) != 3 {
		t.Errorf("got %+v, %v", done, err)
	}
}
