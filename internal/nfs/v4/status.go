package v4

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Status is nfsstat4. As an error it carries the name from the RFC.
type Status uint32

// Status values of RFC 7531 and RFC 5662 that this client or its tests use.
const (
	OK                       Status = 0
	ErrPerm                  Status = 1
	ErrNoEnt                 Status = 2
	ErrIO                    Status = 5
	ErrAccess                Status = 13
	ErrExist                 Status = 17
	ErrNotDir                Status = 20
	ErrIsDir                 Status = 21
	ErrInval                 Status = 22
	ErrNoSpc                 Status = 28
	ErrROFS                  Status = 30
	ErrNameTooLong           Status = 63
	ErrNotEmpty              Status = 66
	ErrStale                 Status = 70
	ErrBadHandle             Status = 10001
	ErrNotSupp               Status = 10004
	ErrTooSmall              Status = 10005
	ErrServerFault           Status = 10006
	ErrDelay                 Status = 10008
	ErrExpired               Status = 10011
	ErrGrace                 Status = 10013
	ErrFHExpired             Status = 10014
	ErrWrongSec              Status = 10016
	ErrClIDInUse             Status = 10017
	ErrResource              Status = 10018
	ErrMoved                 Status = 10019
	ErrNoFileHandle          Status = 10020
	ErrMinorVersMismatch     Status = 10021
	ErrStaleClientID         Status = 10022
	ErrStaleStateID          Status = 10023
	ErrOldStateID            Status = 10024
	ErrBadStateID            Status = 10025
	ErrBadSeqID              Status = 10026
	ErrNotSame               Status = 10027
	ErrSymlink               Status = 10029
	ErrNoGrace               Status = 10033
	ErrReclaimBad            Status = 10034
	ErrBadXDR                Status = 10036
	ErrLocksHeld             Status = 10037
	ErrOpenMode              Status = 10038
	ErrBadOwner              Status = 10039
	ErrBadChar               Status = 10040
	ErrBadName               Status = 10041
	ErrOpIllegal             Status = 10044
	ErrAdminRevoked          Status = 10047
	ErrBadSession            Status = 10052
	ErrBadSlot               Status = 10053
	ErrCompleteAlready       Status = 10054
	ErrConnNotBoundToSession Status = 10055
	ErrLayoutTryLater        Status = 10058
	ErrLayoutUnavailable     Status = 10059
	ErrNoMatchingLayout      Status = 10060
	ErrRecallConflict        Status = 10061
	ErrUnknownLayoutType     Status = 10062
	ErrSeqMisordered         Status = 10063
	ErrSequencePos           Status = 10064
	ErrReqTooBig             Status = 10065
	ErrRetryUncachedRep      Status = 10068
	ErrTooManyOps            Status = 10070
	ErrOpNotInSession        Status = 10071
	ErrClientIDBusy          Status = 10074
	ErrPNFSIOHole            Status = 10075
	ErrSeqFalseRetry         Status = 10076
	ErrBadHighSlot           Status = 10077
	ErrDeadSession           Status = 10078
	ErrPNFSNoLayout          Status = 10080
	ErrNotOnlyOp             Status = 10081
	ErrDelegRevoked          Status = 10087
)

// Code codes the number of s.
func (s *Status) Code(c *xdr.Coder) { c.Uint32((*uint32)(s)) }

// Error returns the name from the RFC and what it means.
func (s Status) Error() string {
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("unknown NFSv4 status %d", uint32(s))
}

// statusTexts has all values of RFC 7531 and, from 10049, of RFC 5662.
//
//nolint:gochecknoglobals // a constant table
var statusTexts = map[Status]string{
	0:     "NFS4_OK: success",
	1:     "NFS4ERR_PERM: not the owner",
	2:     "NFS4ERR_NOENT: no such file or directory",
	5:     "NFS4ERR_IO: I/O error on the server",
	6:     "NFS4ERR_NXIO: no such device on the server",
	13:    "NFS4ERR_ACCESS: permission denied",
	17:    "NFS4ERR_EXIST: file exists",
	18:    "NFS4ERR_XDEV: link across file systems",
	20:    "NFS4ERR_NOTDIR: not a directory",
	21:    "NFS4ERR_ISDIR: is a directory",
	22:    "NFS4ERR_INVAL: invalid argument",
	27:    "NFS4ERR_FBIG: file too large",
	28:    "NFS4ERR_NOSPC: no space left on the storage",
	30:    "NFS4ERR_ROFS: the file system is read-only",
	31:    "NFS4ERR_MLINK: too many links",
	63:    "NFS4ERR_NAMETOOLONG: file name too long",
	66:    "NFS4ERR_NOTEMPTY: directory not empty",
	69:    "NFS4ERR_DQUOT: quota exceeded",
	70:    "NFS4ERR_STALE: the file behind the handle is gone",
	10001: "NFS4ERR_BADHANDLE: illegal file handle",
	10003: "NFS4ERR_BAD_COOKIE: stale directory cookie",
	10004: "NFS4ERR_NOTSUPP: operation not supported",
	10005: "NFS4ERR_TOOSMALL: buffer too small",
	10006: "NFS4ERR_SERVERFAULT: fault on the server",
	10007: "NFS4ERR_BADTYPE: type not supported by the server",
	10008: "NFS4ERR_DELAY: the server asks to try again later",
	10009: "NFS4ERR_SAME: the attributes are the same",
	10010: "NFS4ERR_DENIED: the lock is held by another owner",
	10011: "NFS4ERR_EXPIRED: the lease has expired and its state is gone",
	10012: "NFS4ERR_LOCKED: the file is locked",
	10013: "NFS4ERR_GRACE: the server is in its grace period",
	10014: "NFS4ERR_FHEXPIRED: the file handle has expired",
	10015: "NFS4ERR_SHARE_DENIED: the file is open in a mode that excludes this",
	10016: "NFS4ERR_WRONGSEC: the export wants another security flavour",
	10017: "NFS4ERR_CLID_INUSE: another client uses this client identifier",
	10018: "NFS4ERR_RESOURCE: the server has not enough resources",
	10019: "NFS4ERR_MOVED: the file system is on another server",
	10020: "NFS4ERR_NOFILEHANDLE: no current file handle",
	10021: "NFS4ERR_MINOR_VERS_MISMATCH: the server does not speak this minor version",
	10022: "NFS4ERR_STALE_CLIENTID: the server does not know the client ID",
	10023: "NFS4ERR_STALE_STATEID: the state ID is from before a restart of the server",
	10024: "NFS4ERR_OLD_STATEID: the state ID has been replaced by a newer one",
	10025: "NFS4ERR_BAD_STATEID: the server does not know the state ID",
	10026: "NFS4ERR_BAD_SEQID: wrong sequence number of the owner",
	10027: "NFS4ERR_NOT_SAME: the attributes are not the same",
	10028: "NFS4ERR_LOCK_RANGE: the server cannot lock this range",
	10029: "NFS4ERR_SYMLINK: is a symbolic link",
	10030: "NFS4ERR_RESTOREFH: no saved file handle",
	10031: "NFS4ERR_LEASE_MOVED: a file system of the lease is on another server",
	10032: "NFS4ERR_ATTRNOTSUPP: attribute not supported",
	10033: "NFS4ERR_NO_GRACE: too late to reclaim state",
	10034: "NFS4ERR_RECLAIM_BAD: the server refuses to give the state back",
	10035: "NFS4ERR_RECLAIM_CONFLICT: the state conflicts with that of another client",
	10036: "NFS4ERR_BADXDR: the server could not decode the arguments",
	10037: "NFS4ERR_LOCKS_HELD: locks are still held",
	10038: "NFS4ERR_OPENMODE: the file is not open in the mode that this needs",
	10039: "NFS4ERR_BADOWNER: the server cannot translate the owner",
	10040: "NFS4ERR_BADCHAR: character not supported by the server",
	10041: "NFS4ERR_BADNAME: name not supported by the server",
	10042: "NFS4ERR_BAD_RANGE: range not supported by the server",
	10043: "NFS4ERR_LOCK_NOTSUPP: the server cannot change the lock at once",
	10044: "NFS4ERR_OP_ILLEGAL: no such operation",
	10045: "NFS4ERR_DEADLOCK: the lock would block forever",
	10046: "NFS4ERR_FILE_OPEN: the file is open",
	10047: "NFS4ERR_ADMIN_REVOKED: an administrator has revoked the state",
	10048: "NFS4ERR_CB_PATH_DOWN: the server cannot reach the callback channel",
	10049: "NFS4ERR_BADIOMODE: the layout has another I/O mode",
	10050: "NFS4ERR_BADLAYOUT: invalid layout",
	10051: "NFS4ERR_BAD_SESSION_DIGEST: wrong digest of the session",
	10052: "NFS4ERR_BADSESSION: the server does not know the session",
	10053: "NFS4ERR_BADSLOT: the slot is outside the slot table of the session",
	10054: "NFS4ERR_COMPLETE_ALREADY: the end of the reclaim was declared before",
	10055: "NFS4ERR_CONN_NOT_BOUND_TO_SESSION: the connection does not belong to the session",
	10056: "NFS4ERR_DELEG_ALREADY_WANTED: the delegation was asked for before",
	10057: "NFS4ERR_BACK_CHAN_BUSY: callbacks are outstanding on the session",
	10058: "NFS4ERR_LAYOUTTRYLATER: no layout at present",
	10059: "NFS4ERR_LAYOUTUNAVAILABLE: the file has no layouts",
	10060: "NFS4ERR_NOMATCHING_LAYOUT: the client holds no such layout",
	10061: "NFS4ERR_RECALLCONFLICT: the layout conflicts with a recall",
	10062: "NFS4ERR_UNKNOWN_LAYOUTTYPE: layout type not supported",
	10063: "NFS4ERR_SEQ_MISORDERED: wrong sequence number of the slot",
	10064: "NFS4ERR_SEQUENCE_POS: SEQUENCE is not the first operation",
	10065: "NFS4ERR_REQ_TOO_BIG: request longer than the session allows",
	10066: "NFS4ERR_REP_TOO_BIG: reply longer than the session allows",
	10067: "NFS4ERR_REP_TOO_BIG_TO_CACHE: reply longer than the session can cache",
	10068: "NFS4ERR_RETRY_UNCACHED_REP: the reply to the first try was not cached",
	10069: "NFS4ERR_UNSAFE_COMPOUND: the server cannot run these operations in one compound",
	10070: "NFS4ERR_TOO_MANY_OPS: more operations than the session allows",
	10071: "NFS4ERR_OP_NOT_IN_SESSION: the operation needs a session",
	10072: "NFS4ERR_HASH_ALG_UNSUPP: hash algorithm not supported",
	10074: "NFS4ERR_CLIENTID_BUSY: the client ID still has state",
	10075: "NFS4ERR_PNFS_IO_HOLE: the I/O is in a hole of the stripe pattern",
	10076: "NFS4ERR_SEQ_FALSE_RETRY: the retry differs from the first try",
	10077: "NFS4ERR_BAD_HIGH_SLOT: wrong highest slot",
	10078: "NFS4ERR_DEADSESSION: the session is dead",
	10079: "NFS4ERR_ENCR_ALG_UNSUPP: encryption algorithm not supported",
	10080: "NFS4ERR_PNFS_NO_LAYOUT: the data server finds no layout for this I/O",
	10081: "NFS4ERR_NOT_ONLY_OP: the operation must be alone in its compound",
	10082: "NFS4ERR_WRONG_CRED: wrong credential",
	10083: "NFS4ERR_WRONG_TYPE: wrong type of file",
	10084: "NFS4ERR_DIRDELEG_UNAVAIL: no directory delegation",
	10085: "NFS4ERR_REJECT_DELEG: the client refuses the delegation",
	10086: "NFS4ERR_RETURNCONFLICT: the layout conflicts with a return",
	10087: "NFS4ERR_DELEG_REVOKED: the server has revoked the delegation",
}
