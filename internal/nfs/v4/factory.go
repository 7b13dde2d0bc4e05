package v4

// Factory makes an empty operation for decoding, or nil for one that is not implemented.
type Factory func(minor uint32, op Op) Operation

// New is the Factory of all operations of this package, of both channels.
func New(minor uint32, op Op) Operation {
	f, ok := operations[op]
	if !ok || !op.known(minor) || minor > 0 && onlyMinor0(op) {
		return nil
	}
	return f()
}

// onlyMinor0 reports whether NFSv4.1 forbids to implement op (RFC 8881 section 17).
func onlyMinor0(op Op) bool {
	switch op {
	case OpOpenConfirm, OpRenew, OpSetClientID, OpSetClientIDConfirm, OpReleaseLockOwner:
		return true
	default:
		return false
	}
}

func maker[T any, P interface {
	*T
	Operation
}]() Operation {
	return P(new(T))
}

//nolint:gochecknoglobals // a constant table
var operations = map[Op]func() Operation{
	OpAccess:             maker[Access],
	OpClose:              maker[Close],
	OpCommit:             maker[Commit],
	OpCreate:             maker[Create],
	OpDelegReturn:        maker[DelegReturn],
	OpGetAttr:            maker[GetAttr],
	OpGetFH:              maker[GetFH],
	OpLookup:             maker[Lookup],
	OpOpen:               maker[Open],
	OpOpenConfirm:        maker[OpenConfirm],
	OpPutFH:              maker[PutFH],
	OpPutRootFH:          maker[PutRootFH],
	OpRead:               maker[Read],
	OpReadDir:            maker[ReadDir],
	OpRemove:             maker[Remove],
	OpRenew:              maker[Renew],
	OpSetAttr:            maker[SetAttr],
	OpSetClientID:        maker[SetClientID],
	OpSetClientIDConfirm: maker[SetClientIDConfirm],
	OpWrite:              maker[Write],
	OpBindConnToSession:  maker[BindConnToSession],
	OpExchangeID:         maker[ExchangeID],
	OpCreateSession:      maker[CreateSession],
	OpDestroySession:     maker[DestroySession],
	OpDestroyClientID:    maker[DestroyClientID],
	OpFreeStateID:        maker[FreeStateID],
	OpTestStateID:        maker[TestStateID],
	OpGetDeviceInfo:      maker[GetDeviceInfo],
	OpLayoutGet:          maker[LayoutGet],
	OpLayoutCommit:       maker[LayoutCommit],
	OpLayoutReturn:       maker[LayoutReturn],
	OpReclaimComplete:    maker[ReclaimComplete],
	OpSequence:           maker[Sequence],
	OpCBGetAttr:          maker[CBGetAttr],
	OpCBRecall:           maker[CBRecall],
	OpCBLayoutRecall:     maker[CBLayoutRecall],
	OpCBRecallAny:        maker[CBRecallAny],
	OpCBRecallSlot:       maker[CBRecallSlot],
	OpCBSequence:         maker[CBSequence],
	OpCBNotifyDeviceID:   maker[CBNotifyDeviceID],
}
