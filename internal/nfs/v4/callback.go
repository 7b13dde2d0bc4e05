package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// CBRecall is CB_RECALL: the server wants a delegation back.
type CBRecall struct {
	StateID  StateID
	Truncate bool
	Handle   []byte
}

// Op returns OpCBRecall.
func (o *CBRecall) Op() Op { return OpCBRecall }

// Args codes the arguments.
func (o *CBRecall) Args(c *xdr.Coder) {
	o.StateID.Code(c)
	c.Bool(&o.Truncate)
	c.Opaque(&o.Handle, MaxHandleBytes)
}

// CBLayoutRecall is CB_LAYOUTRECALL: the server wants layouts back. Offset and Length are
// bytes.
type CBLayoutRecall struct {
	Type           uint32 // a Layout type
	IOMode         uint32
	Changed        bool    // the client must not write data through the layout that is not yet written
	Extent         uint32  // LayoutOfFile and so on
	Handle         []byte  // with LayoutOfFile
	Offset, Length uint64  // with LayoutOfFile
	StateID        StateID // with LayoutOfFile
	FSID           FSID    // with LayoutOfFSID
}

// Op returns OpCBLayoutRecall.
func (o *CBLayoutRecall) Op() Op { return OpCBLayoutRecall }

// Args codes the arguments.
func (o *CBLayoutRecall) Args(c *xdr.Coder) {
	c.Uint32(&o.Type, &o.IOMode)
	c.Bool(&o.Changed)
	switch enum(c, &o.Extent, LayoutOfFile, LayoutOfAll); o.Extent {
	case LayoutOfFile:
		c.Opaque(&o.Handle, MaxHandleBytes)
		c.Uint64(&o.Offset, &o.Length)
		o.StateID.Code(c)
	case LayoutOfFSID:
		o.FSID.Code(c)
	}
}

// CBRecallAny is CB_RECALL_ANY: the server wants the client to keep at most Keep delegations and layouts.
type CBRecallAny struct {
	Keep  uint32
	Types Bitmap // RFC 8881 section 20.6
}

// Op returns OpCBRecallAny.
func (o *CBRecallAny) Op() Op { return OpCBRecallAny }

// Args codes the arguments.
func (o *CBRecallAny) Args(c *xdr.Coder) {
	c.Uint32(&o.Keep)
	o.Types.Code(c)
}

// CBRecallSlot is CB_RECALL_SLOT: the server wants the client to use no slot above TargetSlot.
type CBRecallSlot struct{ TargetSlot uint32 }

// Op returns OpCBRecallSlot.
func (o *CBRecallSlot) Op() Op { return OpCBRecallSlot }

// Args codes the arguments.
func (o *CBRecallSlot) Args(c *xdr.Coder) { c.Uint32(&o.TargetSlot) }

// ReferringCalls is referring_call_list4: the calls of a session that a callback refers to. The client may not have
// seen their replies yet.
type ReferringCalls struct {
	Session SessionID
	Calls   []ReferringCall
}

// ReferringCall is referring_call4.
type ReferringCall struct{ Seq, Slot uint32 }

// CBSequence is CB_SEQUENCE.
type CBSequence struct {
	Session     SessionID
	Seq         uint32
	Slot        uint32
	HighestSlot uint32
	CacheThis   bool
	Referring   []ReferringCalls

	Reply CBSequenceHead // result
}

// CBSequenceHead are the results of CB_SEQUENCE.
type CBSequenceHead struct {
	Session                 SessionID
	Seq, Slot               uint32
	HighestSlot, TargetSlot uint32
}

// Op returns OpCBSequence.
func (o *CBSequence) Op() Op { return OpCBSequence }

// Args codes the arguments.
func (o *CBSequence) Args(c *xdr.Coder) {
	o.Session.Code(c)
	c.Uint32(&o.Seq, &o.Slot, &o.HighestSlot)
	c.Bool(&o.CacheThis)
	xdr.Bounded(c, &o.Referring, MaxListItems, 20, func(r *ReferringCalls) {
		r.Session.Code(c)
		xdr.Bounded(c, &r.Calls, MaxListItems, 8, func(call *ReferringCall) { c.Uint32(&call.Seq, &call.Slot) })
	})
}

// Results codes the results.
func (o *CBSequence) Results(c *xdr.Coder) {
	o.Reply.Session.Code(c)
	c.Uint32(&o.Reply.Seq, &o.Reply.Slot, &o.Reply.HighestSlot, &o.Reply.TargetSlot)
}

// DeviceChange is one notification of CBNotifyDeviceID.
type DeviceChange struct {
	Deleted   bool
	Type      uint32 // a Layout type
	Device    DeviceID
	Immediate bool // the old address is invalid at once; not with Deleted
}

// CBNotifyDeviceID is CB_NOTIFY_DEVICEID: addresses of devices have changed. Encoding writes one notification per
// change, decoding also accepts several changes in one.
type CBNotifyDeviceID struct{ Changes []DeviceChange }

// Op returns OpCBNotifyDeviceID.
func (o *CBNotifyDeviceID) Op() Op { return OpCBNotifyDeviceID }

// Args codes the arguments.
func (o *CBNotifyDeviceID) Args(c *xdr.Coder) {
	var all []notification
	if c.Encoding() {
		for i := range o.Changes {
			all = append(all, o.Changes[i].notification())
		}
	}
	xdr.Bounded(c, &all, MaxListItems, 8, func(n *notification) {
		n.mask.Code(c)
		c.Opaque(&n.values, MaxAttrBytes)
	})
	if c.Encoding() || c.Failed() {
		return
	}
	o.Changes = nil
	for _, n := range all {
		if err := n.decode(&o.Changes); err != nil {
			c.Refuse(err)
			return
		}
	}
}

// notification is notify4: which notifications there are, and their values in the order of
// the bits (RFC 8881 section 20.4).
type notification struct {
	mask   Bitmap
	values []byte
}

func (v *DeviceChange) notification() notification {
	c := xdr.NewEncoder(nil)
	v.code(&c)
	if v.Deleted {
		return notification{Bits(NotifyDeviceDelete), c.Bytes()}
	}
	return notification{Bits(NotifyDeviceChange), c.Bytes()}
}

func (v *DeviceChange) code(c *xdr.Coder) {
	c.Uint32(&v.Type)
	if v.Device.Code(c); !v.Deleted {
		c.Bool(&v.Immediate)
	}
}

func (n *notification) decode(changes *[]DeviceChange) error {
	d := xdr.NewDecoder(n.values)
	c := d.Coder()
	for bit := range uint32(32 * len(n.mask)) {
		switch {
		case !n.mask.Has(bit):
		case bit == NotifyDeviceChange || bit == NotifyDeviceDelete:
			v := DeviceChange{Deleted: bit == NotifyDeviceDelete}
			v.code(&c)
			*changes = append(*changes, v)
		default:
			c.Refuse(xdr.ErrBadValue)
		}
	}
	if d = c.Decoder(); d.Len() > 0 {
		d.Fail(ErrTrailing)
	}
	return d.Err()
}
