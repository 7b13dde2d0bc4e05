package v4

import "fmt"

// Op is the number of an operation: nfs_opnum4, or nfs_cb_opnum4 with a bit that tells the
// two apart and does not go over the wire.
type Op uint32

// callback is the bit of the operations of the callback channel.
const callback Op = 1 << 31

// Operations of RFC 7531 and, from OpBackchannelCtl, of RFC 5662. OpCompound is no operation:
// it names the compound itself where the server refuses it as a whole.
const (
	OpCompound           Op = 0
	OpAccess             Op = 3
	OpClose              Op = 4
	OpCommit             Op = 5
	OpCreate             Op = 6
	OpDelegPurge         Op = 7
	OpDelegReturn        Op = 8
	OpGetAttr            Op = 9
	OpGetFH              Op = 10
	OpLink               Op = 11
	OpLock               Op = 12
	OpLockT              Op = 13
	OpLockU              Op = 14
	OpLookup             Op = 15
	OpLookupP            Op = 16
	OpNVerify            Op = 17
	OpOpen               Op = 18
	OpOpenAttr           Op = 19
	OpOpenConfirm        Op = 20
	OpOpenDowngrade      Op = 21
	OpPutFH              Op = 22
	OpPutPubFH           Op = 23
	OpPutRootFH          Op = 24
	OpRead               Op = 25
	OpReadDir            Op = 26
	OpReadLink           Op = 27
	OpRemove             Op = 28
	OpRename             Op = 29
	OpRenew              Op = 30
	OpRestoreFH          Op = 31
	OpSaveFH             Op = 32
	OpSecInfo            Op = 33
	OpSetAttr            Op = 34
	OpSetClientID        Op = 35
	OpSetClientIDConfirm Op = 36
	OpVerify             Op = 37
	OpWrite              Op = 38
	OpReleaseLockOwner   Op = 39
	OpBackchannelCtl     Op = 40
	OpBindConnToSession  Op = 41
	OpExchangeID         Op = 42
	OpCreateSession      Op = 43
	OpDestroySession     Op = 44
	OpFreeStateID        Op = 45
	OpGetDirDelegation   Op = 46
	OpGetDeviceInfo      Op = 47
	OpGetDeviceList      Op = 48
	OpLayoutCommit       Op = 49
	OpLayoutGet          Op = 50
	OpLayoutReturn       Op = 51
	OpSecInfoNoName      Op = 52
	OpSequence           Op = 53
	OpSetSSV             Op = 54
	OpTestStateID        Op = 55
	OpWantDelegation     Op = 56
	OpDestroyClientID    Op = 57
	OpReclaimComplete    Op = 58
	OpIllegal            Op = 10044
)

// Operations of the callback channel.
const (
	OpCBCompound           = callback
	OpCBGetAttr            = callback | 3
	OpCBRecall             = callback | 4
	OpCBLayoutRecall       = callback | 5
	OpCBNotify             = callback | 6
	OpCBPushDeleg          = callback | 7
	OpCBRecallAny          = callback | 8
	OpCBRecallableObjAvail = callback | 9
	OpCBRecallSlot         = callback | 10
	OpCBSequence           = callback | 11
	OpCBWantsCancelled     = callback | 12
	OpCBNotifyLock         = callback | 13
	OpCBNotifyDeviceID     = callback | 14
	OpCBIllegal            = callback | 10044
)

// Number returns the number that goes over the wire.
func (o Op) Number() uint32 { return uint32(o &^ callback) }

// String returns the name from the RFC without "OP_".
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("operation %d", o.Number())
}

// illegal returns what stands for an unknown operation of the channel of o.
func (o Op) illegal() Op { return o&callback | OpIllegal }

// known reports whether minor version minor, which is 0 or 1, has the operation.
func (o Op) known(minor uint32) bool {
	low, high := OpAccess, OpReleaseLockOwner
	switch {
	case o&callback != 0 && minor == 0:
		low, high = OpCBGetAttr, OpCBRecall
	case o&callback != 0:
		low, high = OpCBGetAttr, OpCBNotifyDeviceID
	case minor > 0:
		high = OpReclaimComplete
	}
	return o >= low && o <= high
}

//nolint:gochecknoglobals // a constant table
var opNames = map[Op]string{
	OpCompound:             "COMPOUND",
	OpIllegal:              "ILLEGAL",
	OpCBCompound:           "CB_COMPOUND",
	OpCBIllegal:            "CB_ILLEGAL",
	OpAccess:               "ACCESS",
	OpClose:                "CLOSE",
	OpCommit:               "COMMIT",
	OpCreate:               "CREATE",
	OpDelegPurge:           "DELEGPURGE",
	OpDelegReturn:          "DELEGRETURN",
	OpGetAttr:              "GETATTR",
	OpGetFH:                "GETFH",
	OpLink:                 "LINK",
	OpLock:                 "LOCK",
	OpLockT:                "LOCKT",
	OpLockU:                "LOCKU",
	OpLookup:               "LOOKUP",
	OpLookupP:              "LOOKUPP",
	OpNVerify:              "NVERIFY",
	OpOpen:                 "OPEN",
	OpOpenAttr:             "OPENATTR",
	OpOpenConfirm:          "OPEN_CONFIRM",
	OpOpenDowngrade:        "OPEN_DOWNGRADE",
	OpPutFH:                "PUTFH",
	OpPutPubFH:             "PUTPUBFH",
	OpPutRootFH:            "PUTROOTFH",
	OpRead:                 "READ",
	OpReadDir:              "READDIR",
	OpReadLink:             "READLINK",
	OpRemove:               "REMOVE",
	OpRename:               "RENAME",
	OpRenew:                "RENEW",
	OpRestoreFH:            "RESTOREFH",
	OpSaveFH:               "SAVEFH",
	OpSecInfo:              "SECINFO",
	OpSetAttr:              "SETATTR",
	OpSetClientID:          "SETCLIENTID",
	OpSetClientIDConfirm:   "SETCLIENTID_CONFIRM",
	OpVerify:               "VERIFY",
	OpWrite:                "WRITE",
	OpReleaseLockOwner:     "RELEASE_LOCKOWNER",
	OpBackchannelCtl:       "BACKCHANNEL_CTL",
	OpBindConnToSession:    "BIND_CONN_TO_SESSION",
	OpExchangeID:           "EXCHANGE_ID",
	OpCreateSession:        "CREATE_SESSION",
	OpDestroySession:       "DESTROY_SESSION",
	OpFreeStateID:          "FREE_STATEID",
	OpGetDirDelegation:     "GET_DIR_DELEGATION",
	OpGetDeviceInfo:        "GETDEVICEINFO",
	OpGetDeviceList:        "GETDEVICELIST",
	OpLayoutCommit:         "LAYOUTCOMMIT",
	OpLayoutGet:            "LAYOUTGET",
	OpLayoutReturn:         "LAYOUTRETURN",
	OpSecInfoNoName:        "SECINFO_NO_NAME",
	OpSequence:             "SEQUENCE",
	OpSetSSV:               "SET_SSV",
	OpTestStateID:          "TEST_STATEID",
	OpWantDelegation:       "WANT_DELEGATION",
	OpDestroyClientID:      "DESTROY_CLIENTID",
	OpReclaimComplete:      "RECLAIM_COMPLETE",
	OpCBGetAttr:            "CB_GETATTR",
	OpCBRecall:             "CB_RECALL",
	OpCBLayoutRecall:       "CB_LAYOUTRECALL",
	OpCBNotify:             "CB_NOTIFY",
	OpCBPushDeleg:          "CB_PUSH_DELEG",
	OpCBRecallAny:          "CB_RECALL_ANY",
	OpCBRecallableObjAvail: "CB_RECALLABLE_OBJ_AVAIL",
	OpCBRecallSlot:         "CB_RECALL_SLOT",
	OpCBSequence:           "CB_SEQUENCE",
	OpCBWantsCancelled:     "CB_WANTS_CANCELLED",
	OpCBNotifyLock:         "CB_NOTIFY_LOCK",
	OpCBNotifyDeviceID:     "CB_NOTIFY_DEVICEID",
}
