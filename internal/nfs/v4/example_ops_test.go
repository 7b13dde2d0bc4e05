package v4_test

import (
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// example is one operation with every field set that its direction and status code, and the
// minor version that has it.
type example struct {
	minor  uint32
	status v4.Status
	op     v4.Operation
}

func exampleAttrs() v4.Attrs {
	a := v4.Attrs{
		Mask: v4.Bits(1, 4, 8, 10, 11, 24, 30, 31, 33, 35, 36, 37, 42, 44, 62), Type: v4.TypeRegular, Size: 3 << 32,
		FSID: v4.FSID{Major: 4, Minor: 5}, LeaseSeconds: 90, ReadDirError: v4.ErrMoved,
		FSLocations: v4.FSLocations{[]string{"a", "bc"}, []v4.FSLocation{{[]string{"server", "other"}, []string{"x"}}}},
		MaxRead:     8, MaxWrite: 9, Mode: 0o640, NumLinks: 2, Owner: "1000", OwnerGroup: "dba@example.test", SpaceAvail: 10, SpaceTotal: 12,
		FSLayoutTypes: []uint32{v4.LayoutFiles, v4.LayoutFlexFiles},
	}
	return a
}

func exampleDelegation(t v4.DelegationType) v4.Delegation {
	d := v4.Delegation{Type: t, StateID: id(7), Recall: true, Ace: v4.Ace{1, 2, 3, "OWNER@"}}
	if t == v4.DelegationWrite {
		d.Limit = v4.SpaceLimit{By: v4.LimitBytes, Bytes: 9}
	}
	return d
}

func id(seq uint32) v4.StateID {
	return v4.StateID{seq, [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, byte(seq)}}
}

// examples returns at least one example of each operation of both channels.
func examples() map[string]example {
	fh := []byte("handle-of-odd-len")
	v := v4.Verifier{1, 2, 3, 4, 5, 6, 7, 8}
	session := v4.SessionID{1, 2, 3, 15: 16}
	device := v4.DeviceID{9, 8, 7, 15: 1}
	set := v4.Attrs{Mask: v4.Bits(v4.AttrSize, v4.AttrMode), Size: 1 << 40, Mode: 0o600}
	change := v4.ChangeInfo{true, 1, 2}
	channel := v4.ChannelAttrs{1, 2, 3, 4, 5, 6, []uint32{7}}
	impl := []v4.Implementation{{"example.test", "name", v4.Time{1, 2}}}
	open := v4.Open{
		Seq: 1, Access: v4.ShareBoth, Deny: v4.ShareRead, ClientID: 2, Owner: []byte("owner"), Name: "name",
		StateID: id(3), Change: change, Flags: v4.OpenConfirmNeeded, AttrSet: v4.Bits(v4.AttrMode),
	}
	opened := func(f func(o *v4.Open)) *v4.Open {
		o := open
		f(&o)
		return &o
	}
	entries := []v4.DirEntry{{1, "n", v4.Bits(1), []byte{0, 0, 0, 2}}, {2, "m", v4.Bits(4), make([]byte, 8)}}
	security := []v4.CallbackSecurity{{}, {}}
	segments := []v4.Segment{{1, v4.ToEnd, v4.IOModeRead, v4.LayoutFiles, fh}, {2, 3, v4.IOModeReadWrite, v4.LayoutFiles, fh}}
	recall := v4.CBLayoutRecall{
		Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Changed: true, Extent: v4.LayoutOfFile, Handle: fh, Offset: 1, Length: v4.ToEnd,
		StateID: id(1),
	}
	referring := []v4.ReferringCalls{{session, []v4.ReferringCall{{1, 2}, {3, 4}}}}
	devices := []v4.DeviceChange{{false, v4.LayoutFiles, device, true}, {true, v4.LayoutFiles, device, false}}
	layout := v4.LayoutGet{
		true, v4.LayoutFiles, v4.IOModeReadWrite, 1, v4.ToEnd, 2, id(1), 3, true, id(2), segments, false,
	}
	create := v4.CreateSession{1, 2, 3, channel, channel, 4, security, session, 5, 6, channel, channel}
	return map[string]example{
		"CLOSE":        {0, v4.OK, &v4.Close{1, id(2), id(3)}},
		"COMMIT":       {0, v4.OK, &v4.Commit{1 << 40, 2, v}},
		"CREATE":       {0, v4.OK, &v4.Create{"dir", set, change, v4.Bits(v4.AttrMode)}},
		"DELEGRETURN":  {0, v4.OK, &v4.DelegReturn{id(1)}},
		"GETATTR":      {1, v4.OK, &v4.GetAttr{exampleAttrs().Mask, exampleAttrs()}},
		"GETATTR none": {1, v4.OK, &v4.GetAttr{}},
		"GETFH":        {0, v4.OK, &v4.GetFH{fh}},
		"LOOKUP":       {0, v4.OK, &v4.Lookup{"name"}},
		"OPEN":         {0, v4.OK, &open},
		"OPEN unchecked": {0, v4.OK, opened(func(o *v4.Open) {
			o.How, o.Attrs, o.Granted = v4.CreateUnchecked, set, exampleDelegation(v4.DelegationRead)
		})},
		"OPEN guarded": {0, v4.OK, opened(func(o *v4.Open) {
			o.How, o.Attrs, o.Granted = v4.CreateGuarded, set, exampleDelegation(v4.DelegationWrite)
		})},
		"OPEN exclusive": {0, v4.OK, opened(func(o *v4.Open) {
			o.How, o.Verifier, o.Granted = v4.CreateExclusive, v, exampleDelegation(v4.DelegationWrite)
			o.Granted.Limit = v4.SpaceLimit{By: v4.LimitBlocks, Blocks: 1, BlockBytes: 2}
		})},
		"OPEN exclusive with attributes": {1, v4.OK, opened(func(o *v4.Open) {
			o.How, o.Verifier, o.Attrs = v4.CreateExclusive41, v, set
			o.Granted = v4.Delegation{Type: v4.DelegationNoneExt, Why: v4.WhyResource, WillTell: true}
		})},
		"OPEN reclaim": {0, v4.OK, opened(func(o *v4.Open) {
			o.Claim, o.Name, o.Held = v4.ClaimPrevious, "", v4.DelegationWrite
		})},
		"OPEN by handle": {1, v4.OK, opened(func(o *v4.Open) {
			o.Claim, o.Name, o.Granted = v4.ClaimFH, "", v4.Delegation{Type: v4.DelegationNoneExt, Why: v4.WhyNotWanted}
		})},
		"OPEN_CONFIRM":        {0, v4.OK, &v4.OpenConfirm{id(1), 2, id(3)}},
		"PUTFH":               {0, v4.OK, &v4.PutFH{fh}},
		"PUTROOTFH":           {0, v4.OK, &v4.PutRootFH{}},
		"READ":                {0, v4.OK, &nfs4wire.Read{StateID: id(1), Offset: 1 << 40, Count: 8192, EOF: true, Data: []byte{1, 2, 3}}},
		"READDIR":             {0, v4.OK, &v4.ReadDir{1, v, 2, 3, v4.Bits(1, 33), v, entries, true}},
		"REMOVE":              {0, v4.OK, &v4.Remove{"name", change}},
		"RENAME":              {0, v4.OK, &v4.Rename{"from", "to", change, change}},
		"SAVEFH":              {0, v4.OK, &v4.SaveFH{}},
		"RENEW":               {0, v4.OK, &v4.Renew{1}},
		"SETATTR":             {0, v4.OK, &v4.SetAttr{id(1), set, v4.Bits(v4.AttrSize)}},
		"SETATTR fails":       {0, v4.ErrNoSpc, &v4.SetAttr{id(1), set, v4.Bits(v4.AttrMode)}},
		"SETCLIENTID":         {0, v4.OK, &v4.SetClientID{v, fh, v4.CallbackProgram, v4.Address{"tcp", "0.0.0.0.0.0"}, 3, 4, v, v4.Address{}}},
		"SETCLIENTID in use":  {0, v4.ErrClIDInUse, &v4.SetClientID{Owner: fh, InUseBy: v4.Address{"tcp", "127.0.0.1.8.1"}}},
		"SETCLIENTID_CONFIRM": {0, v4.OK, &v4.SetClientIDConfirm{1, v}},
		"WRITE": {0, v4.OK, &nfs4wire.Write{
			StateID: id(1), Offset: 1 << 40, Stable: v4.FileSync, Data: []byte("hello"), Count: 5, Committed: v4.DataSync, Verifier: v,
		}},
		"WRITE fails":                {1, v4.ErrExpired, &nfs4wire.Write{StateID: id(1), Data: []byte("hello")}},
		"BIND_CONN_TO_SESSION":       {1, v4.OK, &v4.BindConnToSession{session, v4.DirForeOrBoth, true, session, v4.DirBoth, true}},
		"EXCHANGE_ID":                {1, v4.OK, &v4.ExchangeID{v, fh, 1, impl, 2, 3, 4, 5, []byte("major"), []byte("scope"), impl}},
		"CREATE_SESSION":             {1, v4.OK, &create},
		"DESTROY_SESSION":            {1, v4.OK, &v4.DestroySession{session}},
		"DESTROY_CLIENTID":           {1, v4.OK, &v4.DestroyClientID{1}},
		"FREE_STATEID":               {1, v4.OK, &v4.FreeStateID{id(1)}},
		"TEST_STATEID":               {1, v4.OK, &v4.TestStateID{[]v4.StateID{id(1), id(2)}, []v4.Status{v4.OK, v4.ErrExpired}}},
		"GETDEVICEINFO":              {1, v4.OK, &v4.GetDeviceInfo{device, v4.LayoutFiles, 1, v4.Bits(1, 2), v4.LayoutFiles, fh, v4.Bits(1), 0}},
		"GETDEVICEINFO too small":    {1, v4.ErrTooSmall, &v4.GetDeviceInfo{Device: device, MinCount: 4096}},
		"LAYOUTGET":                  {1, v4.OK, &layout},
		"LAYOUTGET try later":        {1, v4.ErrLayoutTryLater, &v4.LayoutGet{StateID: id(1), WillSignal: true}},
		"LAYOUTCOMMIT":               {1, v4.OK, &v4.LayoutCommit{1, 2, true, id(1), true, 3, true, v4.Time{4, 5}, v4.LayoutFiles, fh, true, 6}},
		"LAYOUTRETURN":               {1, v4.OK, &v4.LayoutReturn{true, v4.LayoutFiles, v4.IOModeAny, v4.LayoutOfFile, 1, v4.ToEnd, id(1), fh, true, id(2)}},
		"LAYOUTRETURN of all":        {1, v4.OK, &v4.LayoutReturn{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfAll}},
		"RECLAIM_COMPLETE":           {1, v4.OK, &v4.ReclaimComplete{true}},
		"SEQUENCE":                   {1, v4.OK, &v4.Sequence{session, 1, 2, 3, true, v4.SequenceHead{session, 1, 2, 3, 4, 0x80}}},
		"CB_RECALL":                  {1, v4.OK, &v4.CBRecall{id(1), true, fh}},
		"CB_LAYOUTRECALL":            {1, v4.OK, &recall},
		"CB_LAYOUTRECALL of an FSID": {1, v4.OK, &v4.CBLayoutRecall{Extent: v4.LayoutOfFSID, FSID: v4.FSID{1, 2}}},
		"CB_LAYOUTRECALL of all":     {1, v4.ErrNoMatchingLayout, &v4.CBLayoutRecall{Extent: v4.LayoutOfAll}},
		"CB_RECALL_ANY":              {1, v4.OK, &v4.CBRecallAny{1, v4.Bits(3)}},
		"CB_RECALL_SLOT":             {1, v4.OK, &v4.CBRecallSlot{1}},
		"CB_SEQUENCE":                {1, v4.OK, &v4.CBSequence{session, 1, 2, 3, true, referring, v4.CBSequenceHead{session, 1, 2, 3, 4}}},
		"CB_NOTIFY_DEVICEID":         {1, v4.OK, &v4.CBNotifyDeviceID{devices}},
	}
}

// message is a call of one of the channels, with what both ends do with it.
type message interface {
	Append(b []byte) []byte
	DecodeReply(d *xdr.Decoder) (int, error)
	DecodeCall(d *xdr.Decoder) error
	AppendReply(b []byte, status v4.Status, done int) []byte
}

// fore is a message of the fore channel, back one of the callback channel.
type (
	fore struct{ v4.Compound }
	back struct{ v4.CBCompound }
)

func (m *fore) DecodeCall(d *xdr.Decoder) error { return nfs4wire.DecodeCall(d, &m.Compound) }

func (m *fore) AppendReply(b []byte, status v4.Status, done int) []byte {
	return nfs4wire.AppendReply(b, &m.Compound, status, done)
}

func (m *back) Append(b []byte) []byte { return nfs4wire.AppendCallback(b, &m.CBCompound) }

func (m *back) DecodeReply(d *xdr.Decoder) (int, error) {
	return nfs4wire.DecodeCallbackReply(d, &m.CBCompound)
}

// compound returns a compound of ops on their channel.
func compound(minor uint32, ops ...v4.Operation) message {
	if ops[0].Op()&v4.OpCBCompound != 0 {
		return &back{v4.CBCompound{Tag: "tag", Minor: minor, Ident: 5, Ops: ops}}
	}
	return &fore{v4.Compound{Tag: "tag", Minor: minor, Ops: ops}}
}

// empty returns a compound of the channel of m for decoding.
func empty(m message) message {
	if _, ok := m.(*back); ok {
		return &back{}
	}
	return &fore{}
}

func opsOf(m message) []v4.Operation {
	if c, ok := m.(*back); ok {
		return c.Ops
	}
	return m.(*fore).Ops
}

// reply returns the encoded reply to m, whose only operation ends with status.
func (e example) reply(m message) []byte {
	if e.status == v4.OK {
		return m.AppendReply(nil, v4.OK, 1)
	}
	return m.AppendReply(nil, e.status, 0)
}
