package v4

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Status is nfsstat4. As an error it carries the name from the RFC.
type Status uint32

// Status values of RFC 7531 and, from ErrBadIOMode, of RFC 5662.
const (
	OK                       Status = 0
	ErrPerm                  Status = 1
	ErrNoEnt                 Status = 2
	ErrIO                    Status = 5
	ErrNXIO                  Status = 6
	ErrAccess                Status = 13
	ErrExist                 Status = 17
	ErrXDev                  Status = 18
	ErrNotDir                Status = 20
	ErrIsDir                 Status = 21
	ErrInval                 Status = 22
	ErrFBig                  Status = 27
	ErrNoSpc                 Status = 28
	ErrROFS                  Status = 30
	ErrMLink                 Status = 31
	ErrNameTooLong           Status = 63
	ErrNotEmpty              Status = 66
	ErrDQuot                 Status = 69
	ErrStale                 Status = 70
	ErrBadHandle             Status = 10001
	ErrBadCookie             Status = 10003
	ErrNotSupp               Status = 10004
	ErrTooSmall              Status = 10005
	ErrServerFault           Status = 10006
	ErrBadType               Status = 10007
	ErrDelay                 Status = 10008
	ErrSame                  Status = 10009
	ErrDenied                Status = 10010
	ErrExpired               Status = 10011
	ErrLocked                Status = 10012
	ErrGrace                 Status = 10013
	ErrFHExpired             Status = 10014
	ErrShareDenied           Status = 10015
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
	ErrLockRange             Status = 10028
	ErrSymlink               Status = 10029
	ErrRestoreFH             Status = 10030
	ErrLeaseMoved            Status = 10031
	ErrAttrNotSupp           Status = 10032
	ErrNoGrace               Status = 10033
	ErrReclaimBad            Status = 10034
	ErrReclaimConflict       Status = 10035
	ErrBadXDR                Status = 10036
	ErrLocksHeld             Status = 10037
	ErrOpenMode              Status = 10038
	ErrBadOwner              Status = 10039
	ErrBadChar               Status = 10040
	ErrBadName               Status = 10041
	ErrBadRange              Status = 10042
	ErrLockNotSupp           Status = 10043
	ErrOpIllegal             Status = 10044
	ErrDeadlock              Status = 10045
	ErrFileOpen              Status = 10046
	ErrAdminRevoked          Status = 10047
	ErrCBPathDown            Status = 10048
	ErrBadIOMode             Status = 10049
	ErrBadLayout             Status = 10050
	ErrBadSessionDigest      Status = 10051
	ErrBadSession            Status = 10052
	ErrBadSlot               Status = 10053
	ErrCompleteAlready       Status = 10054
	ErrConnNotBoundToSession Status = 10055
	ErrDelegAlreadyWanted    Status = 10056
	ErrBackChanBusy          Status = 10057
	ErrLayoutTryLater        Status = 10058
	ErrLayoutUnavailable     Status = 10059
	ErrNoMatchingLayout      Status = 10060
	ErrRecallConflict        Status = 10061
	ErrUnknownLayoutType     Status = 10062
	ErrSeqMisordered         Status = 10063
	ErrSequencePos           Status = 10064
	ErrReqTooBig             Status = 10065
	ErrRepTooBig             Status = 10066
	ErrRepTooBigToCache      Status = 10067
	ErrRetryUncachedRep      Status = 10068
	ErrUnsafeCompound        Status = 10069
	ErrTooManyOps            Status = 10070
	ErrOpNotInSession        Status = 10071
	ErrHashAlgUnsupp         Status = 10072
	ErrClientIDBusy          Status = 10074
	ErrPNFSIOHole            Status = 10075
	ErrSeqFalseRetry         Status = 10076
	ErrBadHighSlot           Status = 10077
	ErrDeadSession           Status = 10078
	ErrEncrAlgUnsupp         Status = 10079
	ErrPNFSNoLayout          Status = 10080
	ErrNotOnlyOp             Status = 10081
	ErrWrongCred             Status = 10082
	ErrWrongType             Status = 10083
	ErrDirDelegUnavail       Status = 10084
	ErrRejectDeleg           Status = 10085
	ErrReturnConflict        Status = 10086
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

//nolint:gochecknoglobals // a constant table
var statusTexts = map[Status]string{
	OK:                       "NFS4_OK: success",
	ErrPerm:                  "NFS4ERR_PERM: not the owner",
	ErrNoEnt:                 "NFS4ERR_NOENT: no such file or directory",
	ErrIO:                    "NFS4ERR_IO: I/O error on the server",
	ErrNXIO:                  "NFS4ERR_NXIO: no such device on the server",
	ErrAccess:                "NFS4ERR_ACCESS: permission denied",
	ErrExist:                 "NFS4ERR_EXIST: file exists",
	ErrXDev:                  "NFS4ERR_XDEV: link across file systems",
	ErrNotDir:                "NFS4ERR_NOTDIR: not a directory",
	ErrIsDir:                 "NFS4ERR_ISDIR: is a directory",
	ErrInval:                 "NFS4ERR_INVAL: invalid argument",
	ErrFBig:                  "NFS4ERR_FBIG: file too large",
	ErrNoSpc:                 "NFS4ERR_NOSPC: no space left on the storage",
	ErrROFS:                  "NFS4ERR_ROFS: the file system is read-only",
	ErrMLink:                 "NFS4ERR_MLINK: too many links",
	ErrNameTooLong:           "NFS4ERR_NAMETOOLONG: file name too long",
	ErrNotEmpty:              "NFS4ERR_NOTEMPTY: directory not empty",
	ErrDQuot:                 "NFS4ERR_DQUOT: quota exceeded",
	ErrStale:                 "NFS4ERR_STALE: the file behind the handle is gone",
	ErrBadHandle:             "NFS4ERR_BADHANDLE: illegal file handle",
	ErrBadCookie:             "NFS4ERR_BAD_COOKIE: stale directory cookie",
	ErrNotSupp:               "NFS4ERR_NOTSUPP: operation not supported",
	ErrTooSmall:              "NFS4ERR_TOOSMALL: buffer too small",
	ErrServerFault:           "NFS4ERR_SERVERFAULT: fault on the server",
	ErrBadType:               "NFS4ERR_BADTYPE: type not supported by the server",
	ErrDelay:                 "NFS4ERR_DELAY: the server asks to try again later",
	ErrSame:                  "NFS4ERR_SAME: the attributes are the same",
	ErrDenied:                "NFS4ERR_DENIED: the lock is held by another owner",
	ErrExpired:               "NFS4ERR_EXPIRED: the lease has expired and its state is gone",
	ErrLocked:                "NFS4ERR_LOCKED: the file is locked",
	ErrGrace:                 "NFS4ERR_GRACE: the server is in its grace period",
	ErrFHExpired:             "NFS4ERR_FHEXPIRED: the file handle has expired",
	ErrShareDenied:           "NFS4ERR_SHARE_DENIED: the file is open in a mode that excludes this",
	ErrWrongSec:              "NFS4ERR_WRONGSEC: the export wants another security flavour",
	ErrClIDInUse:             "NFS4ERR_CLID_INUSE: another client uses this client identifier",
	ErrResource:              "NFS4ERR_RESOURCE: the server has not enough resources",
	ErrMoved:                 "NFS4ERR_MOVED: the file system is on another server",
	ErrNoFileHandle:          "NFS4ERR_NOFILEHANDLE: no current file handle",
	ErrMinorVersMismatch:     "NFS4ERR_MINOR_VERS_MISMATCH: the server does not speak this minor version",
	ErrStaleClientID:         "NFS4ERR_STALE_CLIENTID: the server does not know the client ID",
	ErrStaleStateID:          "NFS4ERR_STALE_STATEID: the state ID is from before a restart of the server",
	ErrOldStateID:            "NFS4ERR_OLD_STATEID: the state ID has been replaced by a newer one",
	ErrBadStateID:            "NFS4ERR_BAD_STATEID: the server does not know the state ID",
	ErrBadSeqID:              "NFS4ERR_BAD_SEQID: wrong sequence number of the owner",
	ErrNotSame:               "NFS4ERR_NOT_SAME: the attributes are not the same",
	ErrLockRange:             "NFS4ERR_LOCK_RANGE: the server cannot lock this range",
	ErrSymlink:               "NFS4ERR_SYMLINK: is a symbolic link",
	ErrRestoreFH:             "NFS4ERR_RESTOREFH: no saved file handle",
	ErrLeaseMoved:            "NFS4ERR_LEASE_MOVED: a file system of the lease is on another server",
	ErrAttrNotSupp:           "NFS4ERR_ATTRNOTSUPP: attribute not supported",
	ErrNoGrace:               "NFS4ERR_NO_GRACE: too late to reclaim state",
	ErrReclaimBad:            "NFS4ERR_RECLAIM_BAD: the server refuses to give the state back",
	ErrReclaimConflict:       "NFS4ERR_RECLAIM_CONFLICT: the state conflicts with that of another client",
	ErrBadXDR:                "NFS4ERR_BADXDR: the server could not decode the arguments",
	ErrLocksHeld:             "NFS4ERR_LOCKS_HELD: locks are still held",
	ErrOpenMode:              "NFS4ERR_OPENMODE: the file is not open in the mode that this needs",
	ErrBadOwner:              "NFS4ERR_BADOWNER: the server cannot translate the owner",
	ErrBadChar:               "NFS4ERR_BADCHAR: character not supported by the server",
	ErrBadName:               "NFS4ERR_BADNAME: name not supported by the server",
	ErrBadRange:              "NFS4ERR_BAD_RANGE: range not supported by the server",
	ErrLockNotSupp:           "NFS4ERR_LOCK_NOTSUPP: the server cannot change the lock at once",
	ErrOpIllegal:             "NFS4ERR_OP_ILLEGAL: no such operation",
	ErrDeadlock:              "NFS4ERR_DEADLOCK: the lock would block forever",
	ErrFileOpen:              "NFS4ERR_FILE_OPEN: the file is open",
	ErrAdminRevoked:          "NFS4ERR_ADMIN_REVOKED: an administrator has revoked the state",
	ErrCBPathDown:            "NFS4ERR_CB_PATH_DOWN: the server cannot reach the callback channel",
	ErrBadIOMode:             "NFS4ERR_BADIOMODE: the layout has another I/O mode",
	ErrBadLayout:             "NFS4ERR_BADLAYOUT: invalid layout",
	ErrBadSessionDigest:      "NFS4ERR_BAD_SESSION_DIGEST: wrong digest of the session",
	ErrBadSession:            "NFS4ERR_BADSESSION: the server does not know the session",
	ErrBadSlot:               "NFS4ERR_BADSLOT: the slot is outside the slot table of the session",
	ErrCompleteAlready:       "NFS4ERR_COMPLETE_ALREADY: the end of the reclaim was declared before",
	ErrConnNotBoundToSession: "NFS4ERR_CONN_NOT_BOUND_TO_SESSION: the connection does not belong to the session",
	ErrDelegAlreadyWanted:    "NFS4ERR_DELEG_ALREADY_WANTED: the delegation was asked for before",
	ErrBackChanBusy:          "NFS4ERR_BACK_CHAN_BUSY: callbacks are outstanding on the session",
	ErrLayoutTryLater:        "NFS4ERR_LAYOUTTRYLATER: no layout at present",
	ErrLayoutUnavailable:     "NFS4ERR_LAYOUTUNAVAILABLE: the file has no layouts",
	ErrNoMatchingLayout:      "NFS4ERR_NOMATCHING_LAYOUT: the client holds no such layout",
	ErrRecallConflict:        "NFS4ERR_RECALLCONFLICT: the layout conflicts with a recall",
	ErrUnknownLayoutType:     "NFS4ERR_UNKNOWN_LAYOUTTYPE: layout type not supported",
	ErrSeqMisordered:         "NFS4ERR_SEQ_MISORDERED: wrong sequence number of the slot",
	ErrSequencePos:           "NFS4ERR_SEQUENCE_POS: SEQUENCE is not the first operation",
	ErrReqTooBig:             "NFS4ERR_REQ_TOO_BIG: request longer than the session allows",
	ErrRepTooBig:             "NFS4ERR_REP_TOO_BIG: reply longer than the session allows",
	ErrRepTooBigToCache:      "NFS4ERR_REP_TOO_BIG_TO_CACHE: reply longer than the session can cache",
	ErrRetryUncachedRep:      "NFS4ERR_RETRY_UNCACHED_REP: the reply to the first try was not cached",
	ErrUnsafeCompound:        "NFS4ERR_UNSAFE_COMPOUND: the server cannot run these operations in one compound",
	ErrTooManyOps:            "NFS4ERR_TOO_MANY_OPS: more operations than the session allows",
	ErrOpNotInSession:        "NFS4ERR_OP_NOT_IN_SESSION: the operation needs a session",
	ErrHashAlgUnsupp:         "NFS4ERR_HASH_ALG_UNSUPP: hash algorithm not supported",
	ErrClientIDBusy:          "NFS4ERR_CLIENTID_BUSY: the client ID still has state",
	ErrPNFSIOHole:            "NFS4ERR_PNFS_IO_HOLE: the I/O is in a hole of the stripe pattern",
	ErrSeqFalseRetry:         "NFS4ERR_SEQ_FALSE_RETRY: the retry differs from the first try",
	ErrBadHighSlot:           "NFS4ERR_BAD_HIGH_SLOT: wrong highest slot",
	ErrDeadSession:           "NFS4ERR_DEADSESSION: the session is dead",
	ErrEncrAlgUnsupp:         "NFS4ERR_ENCR_ALG_UNSUPP: encryption algorithm not supported",
	ErrPNFSNoLayout:          "NFS4ERR_PNFS_NO_LAYOUT: the data server finds no layout for this I/O",
	ErrNotOnlyOp:             "NFS4ERR_NOT_ONLY_OP: the operation must be alone in its compound",
	ErrWrongCred:             "NFS4ERR_WRONG_CRED: wrong credential",
	ErrWrongType:             "NFS4ERR_WRONG_TYPE: wrong type of file",
	ErrDirDelegUnavail:       "NFS4ERR_DIRDELEG_UNAVAIL: no directory delegation",
	ErrRejectDeleg:           "NFS4ERR_REJECT_DELEG: the client refuses the delegation",
	ErrReturnConflict:        "NFS4ERR_RETURNCONFLICT: the layout conflicts with a return",
	ErrDelegRevoked:          "NFS4ERR_DELEG_REVOKED: the server has revoked the delegation",
}
