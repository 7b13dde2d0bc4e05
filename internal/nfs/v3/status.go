package v3

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Status is nfsstat3. As an error it carries the name from RFC 1813.
type Status uint32

// Status values of RFC 1813 section 2.6 that this program uses. Error knows all values.
const (
	OK             Status = 0
	ErrPerm        Status = 1
	ErrNoEnt       Status = 2
	ErrIO          Status = 5
	ErrAcces       Status = 13
	ErrExist       Status = 17
	ErrInval       Status = 22
	ErrNoSpc       Status = 28
	ErrROFS        Status = 30
	ErrNameTooLong Status = 63
	ErrNotEmpty    Status = 66
	ErrDQuot       Status = 69
	ErrStale       Status = 70
	ErrBadHandle   Status = 10001
	ErrNotSync     Status = 10002
	ErrBadCookie   Status = 10003
	ErrNotSupp     Status = 10004
	ErrTooSmall    Status = 10005
	ErrJukebox     Status = 10008
)

func (s *Status) Code(c *xdr.Coder) { c.Uint32((*uint32)(s)) }

// Error returns the name from RFC 1813 and what it means.
func (s Status) Error() string {
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("unknown NFS status %d", uint32(s))
}

//nolint:gochecknoglobals // a constant table
var statusTexts = map[Status]string{
	OK:             "NFS3_OK: success",
	ErrPerm:        "NFS3ERR_PERM: not the owner",
	ErrNoEnt:       "NFS3ERR_NOENT: no such file or directory",
	ErrIO:          "NFS3ERR_IO: I/O error on the server",
	6:              "NFS3ERR_NXIO: no such device on the server",
	ErrAcces:       "NFS3ERR_ACCES: permission denied",
	ErrExist:       "NFS3ERR_EXIST: file exists",
	18:             "NFS3ERR_XDEV: link across file systems",
	19:             "NFS3ERR_NODEV: no such device",
	20:             "NFS3ERR_NOTDIR: not a directory",
	21:             "NFS3ERR_ISDIR: is a directory",
	ErrInval:       "NFS3ERR_INVAL: invalid argument",
	27:             "NFS3ERR_FBIG: file too large",
	ErrNoSpc:       "NFS3ERR_NOSPC: no space left on the storage",
	ErrROFS:        "NFS3ERR_ROFS: the export is read-only",
	31:             "NFS3ERR_MLINK: too many links",
	ErrNameTooLong: "NFS3ERR_NAMETOOLONG: file name too long",
	ErrNotEmpty:    "NFS3ERR_NOTEMPTY: directory not empty",
	ErrDQuot:       "NFS3ERR_DQUOT: quota exceeded",
	ErrStale:       "NFS3ERR_STALE: the file behind the handle is gone",
	71:             "NFS3ERR_REMOTE: too many levels of remote in path",
	ErrBadHandle:   "NFS3ERR_BADHANDLE: illegal file handle",
	ErrNotSync:     "NFS3ERR_NOT_SYNC: file changed meanwhile",
	ErrBadCookie:   "NFS3ERR_BAD_COOKIE: stale directory cookie",
	ErrNotSupp:     "NFS3ERR_NOTSUPP: operation not supported",
	ErrTooSmall:    "NFS3ERR_TOOSMALL: buffer too small",
	10006:          "NFS3ERR_SERVERFAULT: fault on the server",
	10007:          "NFS3ERR_BADTYPE: type not supported by the server",
	ErrJukebox:     "NFS3ERR_JUKEBOX: the server asks to try again later",
}
