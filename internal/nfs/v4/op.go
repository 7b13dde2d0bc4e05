package v4

import "fmt"

// Op is the number of an operation: nfs_opnum4, or nfs_cb_opnum4 with a bit that distinguishes the two and is not
// sent.
type Op uint32

// callback is the bit of the operations of the callback channel.
const callback Op = 1 << 31

// Operations of RFC 7531 and, from OpBindConnToSession, of RFC 5662 that this client uses. OpCompound is no
// operation: it stands for the compound itself, if the server refuses it as a whole.
const (
	OpCompound           Op = 0
	OpClose              Op = 4
	OpCommit             Op = 5
	OpCreate             Op = 6
	OpDelegReturn        Op = 8
	OpGetAttr            Op = 9
	OpGetFH              Op = 10
	OpLookup             Op = 15
	OpOpen               Op = 18
	OpOpenConfirm        Op = 20
	OpPutFH              Op = 22
	OpPutRootFH          Op = 24
	OpRead               Op = 25
	OpReadDir            Op = 26
	OpRemove             Op = 28
	OpRename             Op = 29
	OpRenew              Op = 30
	OpSaveFH             Op = 32
	OpSetAttr            Op = 34
	OpSetClientID        Op = 35
	OpSetClientIDConfirm Op = 36
	OpWrite              Op = 38
	OpBindConnToSession  Op = 41
	OpExchangeID         Op = 42
	OpCreateSession      Op = 43
	OpDestroySession     Op = 44
	OpFreeStateID        Op = 45
	OpGetDeviceInfo      Op = 47
	OpLayoutCommit       Op = 49
	OpLayoutGet          Op = 50
	OpLayoutReturn       Op = 51
	OpSequence           Op = 53
	OpTestStateID        Op = 55
	OpDestroyClientID    Op = 57
	OpReclaimComplete    Op = 58
	OpIllegal            Op = 10044
)

// Operations of the callback channel that this client understands.
const (
	OpCBCompound       = callback
	OpCBRecall         = callback | 4
	OpCBLayoutRecall   = callback | 5
	OpCBRecallAny      = callback | 8
	OpCBRecallSlot     = callback | 10
	OpCBSequence       = callback | 11
	OpCBNotifyDeviceID = callback | 14
	OpCBIllegal        = callback | 10044
)

// Number returns the number on the wire.
func (o Op) Number() uint32 { return uint32(o &^ callback) }

// String returns the name from the RFC without "OP_".
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("operation %d", o.Number())
}

//nolint:gochecknoglobals // a constant table
var opNames = map[Op]string{
	OpCompound:           "COMPOUND",
	OpIllegal:            "ILLEGAL",
	OpCBCompound:         "CB_COMPOUND",
	OpCBIllegal:          "CB_ILLEGAL",
	OpClose:              "CLOSE",
	OpCommit:             "COMMIT",
	OpCreate:             "CREATE",
	OpDelegReturn:        "DELEGRETURN",
	OpGetAttr:            "GETATTR",
	OpGetFH:              "GETFH",
	OpLookup:             "LOOKUP",
	OpOpen:               "OPEN",
	OpOpenConfirm:        "OPEN_CONFIRM",
	OpPutFH:              "PUTFH",
	OpPutRootFH:          "PUTROOTFH",
	OpRead:               "READ",
	OpReadDir:            "READDIR",
	OpRemove:             "REMOVE",
	OpRename:             "RENAME",
	OpRenew:              "RENEW",
	OpSaveFH:             "SAVEFH",
	OpSetAttr:            "SETATTR",
	OpSetClientID:        "SETCLIENTID",
	OpSetClientIDConfirm: "SETCLIENTID_CONFIRM",
	OpWrite:              "WRITE",
	OpBindConnToSession:  "BIND_CONN_TO_SESSION",
	OpExchangeID:         "EXCHANGE_ID",
	OpCreateSession:      "CREATE_SESSION",
	OpDestroySession:     "DESTROY_SESSION",
	OpFreeStateID:        "FREE_STATEID",
	OpGetDeviceInfo:      "GETDEVICEINFO",
	OpLayoutCommit:       "LAYOUTCOMMIT",
	OpLayoutGet:          "LAYOUTGET",
	OpLayoutReturn:       "LAYOUTRETURN",
	OpSequence:           "SEQUENCE",
	OpTestStateID:        "TEST_STATEID",
	OpDestroyClientID:    "DESTROY_CLIENTID",
	OpReclaimComplete:    "RECLAIM_COMPLETE",
	OpCBRecall:           "CB_RECALL",
	OpCBLayoutRecall:     "CB_LAYOUTRECALL",
	OpCBRecallAny:        "CB_RECALL_ANY",
	OpCBRecallSlot:       "CB_RECALL_SLOT",
	OpCBSequence:         "CB_SEQUENCE",
	OpCBNotifyDeviceID:   "CB_NOTIFY_DEVICEID",
}
