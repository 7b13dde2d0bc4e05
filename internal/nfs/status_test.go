package nfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func TestStatusHasItsNameAndItsClass(t *testing.T) {
	for s, want := range map[v3.Status]struct {
		name string
		is   func(error) bool
	}{
		v3.ErrNoSpc:   {"NFS3ERR_NOSPC", IsNoSpace},
		v3.ErrDQuot:   {"NFS3ERR_DQUOT", IsNoSpace},
		v3.ErrStale:   {"NFS3ERR_STALE", IsStale},
		v3.ErrNoEnt:   {"NFS3ERR_NOENT", IsNotExist},
		v3.ErrExist:   {"NFS3ERR_EXIST", IsExist},
		v3.ErrAcces:   {"NFS3ERR_ACCES", IsPermission},
		v3.ErrROFS:    {"NFS3ERR_ROFS", IsPermission},
		v3.ErrJukebox: {"NFS3ERR_JUKEBOX", func(err error) bool { return !IsPermission(err) }},
		v3.Status(99): {"unknown NFS status 99", func(err error) bool { return !IsStale(err) }},
	} {
		wrapped := fmt.Errorf("write: %w", s)
		if name, _, _ := strings.Cut(s.Error(), ":"); name != want.name || !want.is(wrapped) || !errors.Is(wrapped, s) {
			t.Errorf("%d: Error = %q, class %v", uint32(s), s.Error(), want.is(wrapped))
		}
	}
}
