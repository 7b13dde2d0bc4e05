package v3

import (
	"fmt"
	"strings"
	"testing"
)

func TestEveryStatusHasTheNameOfTheRFC(t *testing.T) {
	for status, name := range map[Status]string{
		OK: "NFS3_OK", ErrPerm: "NFS3ERR_PERM", ErrNoEnt: "NFS3ERR_NOENT", ErrIO: "NFS3ERR_IO", 6: "NFS3ERR_NXIO",
		ErrAcces: "NFS3ERR_ACCES", ErrExist: "NFS3ERR_EXIST", 18: "NFS3ERR_XDEV", 19: "NFS3ERR_NODEV",
		20: "NFS3ERR_NOTDIR", 21: "NFS3ERR_ISDIR", ErrInval: "NFS3ERR_INVAL", 27: "NFS3ERR_FBIG",
		ErrNoSpc: "NFS3ERR_NOSPC", ErrROFS: "NFS3ERR_ROFS", 31: "NFS3ERR_MLINK", ErrNameTooLong: "NFS3ERR_NAMETOOLONG",
		ErrNotEmpty: "NFS3ERR_NOTEMPTY", ErrDQuot: "NFS3ERR_DQUOT", ErrStale: "NFS3ERR_STALE", 71: "NFS3ERR_REMOTE",
		ErrBadHandle: "NFS3ERR_BADHANDLE", ErrNotSync: "NFS3ERR_NOT_SYNC", ErrBadCookie: "NFS3ERR_BAD_COOKIE",
		ErrNotSupp: "NFS3ERR_NOTSUPP", ErrTooSmall: "NFS3ERR_TOOSMALL", 10006: "NFS3ERR_SERVERFAULT",
		10007: "NFS3ERR_BADTYPE", ErrJukebox: "NFS3ERR_JUKEBOX",
	} {
		if got, _, _ := strings.Cut(status.Error(), ": "); got != name {
			t.Errorf("status %d is called %q, want %q", uint32(status), got, name)
		}
	}
}

// RFC 1813 section 2.6 gives the numbers.
func TestStatusesHaveTheNumbersOfTheRFC(t *testing.T) {
	for status, number := range map[Status]uint32{
		ErrPerm: 1, ErrNoEnt: 2, ErrIO: 5, 6: 6, ErrAcces: 13, ErrExist: 17, 18: 18, 19: 19, 20: 20,
		21: 21, ErrInval: 22, 27: 27, ErrNoSpc: 28, ErrROFS: 30, 31: 31, ErrNameTooLong: 63, ErrNotEmpty: 66,
		ErrDQuot: 69, ErrStale: 70, 71: 71, ErrBadHandle: 10001, ErrNotSync: 10002, ErrBadCookie: 10003, ErrNotSupp: 10004,
		ErrTooSmall: 10005, 10006: 10006, 10007: 10007, ErrJukebox: 10008,
	} {
		if uint32(status) != number {
			t.Errorf("%s is %d, want %d", status, uint32(status), number)
		}
	}
}

func TestAnUnknownStatusIsToldByItsNumber(t *testing.T) {
	for _, s := range []Status{3, 72, 9999, 10009, 1 << 31} {
		if got := s.Error(); got != fmt.Sprintf("unknown NFS status %d", uint32(s)) {
			t.Errorf("status %d is called %q", uint32(s), got)
		}
	}
}
