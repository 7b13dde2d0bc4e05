package fileset

import (
	"context"
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
