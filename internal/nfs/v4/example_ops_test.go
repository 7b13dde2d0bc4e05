package v4

// example is one operation with every field set that its direction and status code, and the
// minor version that has it.
type example struct {
	minor  uint32
	status Status
	op     Operation
}

func exampleAttrs() Attrs {
	a := Attrs{
		Mask: KnownAttrs(), Supported: Bits(0, 62), Type: TypeRegular, FHExpireType: 1, Change: 2, Size: 3 << 32,
		FSID: FSID{4, 5}, LeaseSeconds: 90, ReadDirError: ErrMoved, Handle: []byte("handle"), FileID: 6,
		FSLocations: FSLocations{[]string{"a", "bc"}, []FSLocation{{[]string{"server", "other"}, []string{"x"}}}},
		MaxFileSize: 7, MaxName: 255, MaxRead: 8, MaxWrite: 9, Mode: 0o640, NumLinks: 1, Owner: "1000",
		OwnerGroup: "dba@example.test", SpaceAvail: 10, SpaceFree: 11, SpaceTotal: 12, SpaceUsed: 13,
		TimeAccess: Time{-1, 2}, TimeMetadata: Time{3, 4}, TimeModify: Time{5, 6}, MountedOnFileID: 14,
		FSLayoutTypes: []uint32{LayoutFiles, LayoutFlexFiles}, LayoutTypes: []uint32{LayoutFiles}, LayoutBlockSize: 15,
		SupportedExclusive: Bits(AttrMode),
	}
	return a
}

func exampleDelegation(t DelegationType) Delegation {
	d := Delegation{Type: t, StateID: id(7), Recall: true, Ace: Ace{1, 2, 3, "OWNER@"}}
	if t == DelegationWrite {
		d.Limit = SpaceLimit{By: LimitBytes, Bytes: 9}
	}
	return d
}

func id(seq uint32) StateID {
	return StateID{seq, [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, byte(seq)}}
}

// examples returns at least one example of each operation of both channels.
func examples() map[string]example {
	fh := []byte("handle-of-odd-len")
	v := Verifier{1, 2, 3, 4, 5, 6, 7, 8}
	session := SessionID{1, 2, 3, 15: 16}
	device := DeviceID{9, 8, 7, 15: 1}
	set := Attrs{Mask: Bits(AttrSize, AttrMode), Size: 1 << 40, Mode: 0o600}
	change := ChangeInfo{true, 1, 2}
	channel := ChannelAttrs{1, 2, 3, 4, 5, 6, []uint32{7}}
	impl := []Implementation{{"example.test", "name", Time{1, 2}}}
	open := Open{
		Seq: 1, Access: ShareBoth, Deny: ShareRead, ClientID: 2, Owner: []byte("owner"), Name: "name",
		StateID: id(3), Change: change, Flags: OpenConfirmNeeded, AttrSet: Bits(AttrMode),
	}
	opened := func(f func(o *Open)) *Open {
		o := open
		f(&o)
		return &o
	}
	entries := []DirEntry{{1, "n", Bits(1), []byte{0, 0, 0, 2}}, {2, "m", Bits(4), make([]byte, 8)}}
	security := []CallbackSecurity{{}, {FlavourSys, 1, "m", 2, 3, []uint32{4, 5}}}
	segments := []Segment{{1, ToEnd, IOModeRead, LayoutFiles, fh}, {2, 3, IOModeReadWrite, LayoutFiles, fh}}
	recall := CBLayoutRecall{
		Type: LayoutFiles, IOMode: IOModeAny, Changed: true, Extent: LayoutOfFile, Handle: fh, Offset: 1, Length: ToEnd,
		StateID: id(1),
	}
	referring := []ReferringCalls{{session, []ReferringCall{{1, 2}, {3, 4}}}}
	devices := []DeviceChange{{false, LayoutFiles, device, true}, {true, LayoutFiles, device, false}}
	layout := LayoutGet{
		true, LayoutFiles, IOModeReadWrite, 1, ToEnd, 2, id(1), 3, true, id(2), segments, false,
	}
	create := CreateSession{1, 2, 3, channel, channel, 4, security, session, 5, 6, channel, channel}
	return map[string]example{
		"ACCESS":       {0, OK, &Access{0x3F, 0x1F, 0x0F}},
		"CLOSE":        {0, OK, &Close{1, id(2), id(3)}},
		"COMMIT":       {0, OK, &Commit{1 << 40, 2, v}},
		"CREATE":       {0, OK, &Create{"dir", set, change, Bits(AttrMode)}},
		"DELEGRETURN":  {0, OK, &DelegReturn{id(1)}},
		"GETATTR":      {1, OK, &GetAttr{KnownAttrs(), exampleAttrs()}},
		"GETATTR none": {1, OK, &GetAttr{}},
		"GETFH":        {0, OK, &GetFH{fh}},
		"LOOKUP":       {0, OK, &Lookup{"name"}},
		"OPEN":         {0, OK, &open},
		"OPEN unchecked": {0, OK, opened(func(o *Open) {
			o.How, o.Attrs, o.Granted = CreateUnchecked, set, exampleDelegation(DelegationRead)
		})},
		"OPEN guarded": {0, OK, opened(func(o *Open) {
			o.How, o.Attrs, o.Granted = CreateGuarded, set, exampleDelegation(DelegationWrite)
		})},
		"OPEN exclusive": {0, OK, opened(func(o *Open) {
			o.How, o.Verifier, o.Granted = CreateExclusive, v, exampleDelegation(DelegationWrite)
			o.Granted.Limit = SpaceLimit{By: LimitBlocks, Blocks: 1, BlockBytes: 2}
		})},
		"OPEN exclusive with attributes": {1, OK, opened(func(o *Open) {
			o.How, o.Verifier, o.Attrs = CreateExclusive41, v, set
			o.Granted = Delegation{Type: DelegationNoneExt, Why: WhyResource, WillTell: true}
		})},
		"OPEN reclaim": {0, OK, opened(func(o *Open) {
			o.Claim, o.Name, o.Held = ClaimPrevious, "", DelegationWrite
		})},
		"OPEN by handle": {1, OK, opened(func(o *Open) {
			o.Claim, o.Name, o.Granted = ClaimFH, "", Delegation{Type: DelegationNoneExt, Why: WhyNotWanted}
		})},
		"OPEN_CONFIRM":               {0, OK, &OpenConfirm{id(1), 2, id(3)}},
		"PUTFH":                      {0, OK, &PutFH{fh}},
		"PUTROOTFH":                  {0, OK, &PutRootFH{}},
		"READ":                       {0, OK, &Read{id(1), 1 << 40, 8192, true, []byte{1, 2, 3}}},
		"READDIR":                    {0, OK, &ReadDir{1, v, 2, 3, Bits(1, 33), v, entries, true}},
		"REMOVE":                     {0, OK, &Remove{"name", change}},
		"RENEW":                      {0, OK, &Renew{1}},
		"SETATTR":                    {0, OK, &SetAttr{id(1), set, Bits(AttrSize)}},
		"SETATTR fails":              {0, ErrNoSpc, &SetAttr{id(1), set, Bits(AttrMode)}},
		"SETCLIENTID":                {0, OK, &SetClientID{v, fh, CallbackProgram, Address{"tcp", "0.0.0.0.0.0"}, 3, 4, v, Address{}}},
		"SETCLIENTID in use":         {0, ErrClIDInUse, &SetClientID{Owner: fh, InUseBy: Address{"tcp", "127.0.0.1.8.1"}}},
		"SETCLIENTID_CONFIRM":        {0, OK, &SetClientIDConfirm{1, v}},
		"WRITE":                      {0, OK, &Write{id(1), 1 << 40, FileSync, []byte("hello"), 5, DataSync, v}},
		"WRITE fails":                {1, ErrExpired, &Write{StateID: id(1), Data: []byte("hello")}},
		"BIND_CONN_TO_SESSION":       {1, OK, &BindConnToSession{session, DirForeOrBoth, true, session, DirBoth, true}},
		"EXCHANGE_ID":                {1, OK, &ExchangeID{v, fh, 1, impl, 2, 3, 4, 5, []byte("major"), []byte("scope"), impl}},
		"CREATE_SESSION":             {1, OK, &create},
		"DESTROY_SESSION":            {1, OK, &DestroySession{session}},
		"DESTROY_CLIENTID":           {1, OK, &DestroyClientID{1}},
		"FREE_STATEID":               {1, OK, &FreeStateID{id(1)}},
		"TEST_STATEID":               {1, OK, &TestStateID{[]StateID{id(1), id(2)}, []Status{OK, ErrExpired}}},
		"GETDEVICEINFO":              {1, OK, &GetDeviceInfo{device, LayoutFiles, 1, Bits(1, 2), LayoutFiles, fh, Bits(1), 0}},
		"GETDEVICEINFO too small":    {1, ErrTooSmall, &GetDeviceInfo{Device: device, MinCount: 4096}},
		"LAYOUTGET":                  {1, OK, &layout},
		"LAYOUTGET try later":        {1, ErrLayoutTryLater, &LayoutGet{StateID: id(1), WillSignal: true}},
		"LAYOUTCOMMIT":               {1, OK, &LayoutCommit{1, 2, true, id(1), true, 3, true, Time{4, 5}, LayoutFiles, fh, true, 6}},
		"LAYOUTRETURN":               {1, OK, &LayoutReturn{true, LayoutFiles, IOModeAny, LayoutOfFile, 1, ToEnd, id(1), fh, true, id(2)}},
		"LAYOUTRETURN of all":        {1, OK, &LayoutReturn{Type: LayoutFiles, IOMode: IOModeAny, Extent: LayoutOfAll}},
		"RECLAIM_COMPLETE":           {1, OK, &ReclaimComplete{true}},
		"SEQUENCE":                   {1, OK, &Sequence{session, 1, 2, 3, true, SequenceHead{session, 1, 2, 3, 4, SeqLeaseMoved}}},
		"CB_GETATTR":                 {0, OK, &CBGetAttr{fh, Bits(AttrSize), set}},
		"CB_RECALL":                  {0, OK, &CBRecall{id(1), true, fh}},
		"CB_LAYOUTRECALL":            {1, OK, &recall},
		"CB_LAYOUTRECALL of an FSID": {1, OK, &CBLayoutRecall{Extent: LayoutOfFSID, FSID: FSID{1, 2}}},
		"CB_LAYOUTRECALL of all":     {1, ErrNoMatchingLayout, &CBLayoutRecall{Extent: LayoutOfAll}},
		"CB_RECALL_ANY":              {1, OK, &CBRecallAny{1, Bits(RecallFileLayouts)}},
		"CB_RECALL_SLOT":             {1, OK, &CBRecallSlot{1}},
		"CB_SEQUENCE":                {1, OK, &CBSequence{session, 1, 2, 3, true, referring, CBSequenceHead{session, 1, 2, 3, 4}}},
		"CB_NOTIFY_DEVICEID":         {1, OK, &CBNotifyDeviceID{devices}},
	}
}

// message is what Compound and CBCompound have in common.
type message interface {
	Append(b []byte) []byte
	DecodeReply(d *decoder) (int, error)
	DecodeCall(d *decoder, factory Factory) error
	AppendReply(b []byte, status Status, done int) []byte
}

// compound returns a compound of ops on their channel.
func compound(minor uint32, ops ...Operation) message {
	if ops[0].Op()&callback != 0 {
		return &CBCompound{"tag", minor, 5, ops}
	}
	return &Compound{"tag", minor, ops}
}

// empty returns a compound of the channel of m for decoding.
func empty(m message) message {
	if _, ok := m.(*CBCompound); ok {
		return &CBCompound{}
	}
	return &Compound{}
}

func opsOf(m message) []Operation {
	if c, ok := m.(*CBCompound); ok {
		return c.Ops
	}
	return m.(*Compound).Ops
}

// reply returns the encoded reply to m, whose only operation ends with status.
func (e example) reply(m message) []byte {
	if e.status == OK {
		return m.AppendReply(nil, OK, 1)
	}
	return m.AppendReply(nil, e.status, 0)
}
