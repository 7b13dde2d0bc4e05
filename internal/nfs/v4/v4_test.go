package v4_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

func TestEveryOperationSurvivesTheWire(t *testing.T) {
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			want := compound(e.minor, e.op)
			got := empty(want)
			d := xdr.NewDecoder(want.Append(nil))
			if err := got.DecodeCall(&d); err != nil || d.Len() != 0 {
				t.Fatalf("the call: err = %v, %d bytes left", err, d.Len())
			}
			d = xdr.NewDecoder(e.reply(want))
			done, err := got.DecodeReply(&d)
			var failed *v4.OpError
			switch {
			case e.status == v4.OK && (err != nil || done != 1):
				t.Fatalf("the reply: %d operations done, err = %v", done, err)
			case e.status == v4.OK:
			case !errors.As(err, &failed) || *failed != v4.OpError{e.op.Op(), e.status} || !errors.Is(err, e.status) || done != 0:
				t.Fatalf("the reply: %d operations done, err = %v, want %s", done, err, e.status)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the operation changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThereIsAnExampleOfEveryOperation(t *testing.T) {
	missing := map[v4.Op]bool{}
	for op, f := range nfs4wire.Operations() {
		if f().Op() != op {
			t.Errorf("the operation made for %s says that it is %s", op, f().Op())
		}
		missing[op] = true
	}
	for _, e := range examples() {
		delete(missing, e.op.Op())
	}
	for op := range missing {
		t.Errorf("%s has no example", op)
	}
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			m := compound(e.minor, e.op)
			call, reply := m.Append(nil), e.reply(m)
			for n := range len(call) {
				d := xdr.NewDecoder(call[:n])
				if err := empty(m).DecodeCall(&d); !isProtocolError(err) {
					t.Fatalf("the first %d of %d bytes of the call: err = %v", n, len(call), err)
				}
			}
			for n := range len(reply) {
				d := xdr.NewDecoder(reply[:n])
				if _, err := m.DecodeReply(&d); !isProtocolError(err) {
					t.Fatalf("the first %d of %d bytes of the reply: err = %v", n, len(reply), err)
				}
			}
		})
	}
}

func isProtocolError(err error) bool {
	var p *v4.ProtocolError
	return errors.As(err, &p)
}

// golden turns hexadecimal digits with comments behind # into bytes.
func golden(t *testing.T, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The structures are those of RFC 5662; the sections of RFC 8881 are named at the operations.
const (
	exchangeIDCall = `
		00000000                   # tag
		00000001 00000001          # minor version, one operation
		0000002a                   # EXCHANGE_ID, 18.35.1
		0102030405060708           # co_verifier
		00000003 61626300          # co_ownerid "abc"
		00020001                   # USE_PNFS_MDS, SUPP_MOVED_REFER
		00000000                   # SP4_NONE
		00000000                   # no eia_client_impl_id`
	exchangeIDReply = `
		00000000 00000000 00000001 # NFS4_OK, tag, one result
		0000002a 00000000          # EXCHANGE_ID, NFS4_OK, 18.35.2
		1122334455667788           # eir_clientid
		00000009                   # eir_sequenceid
		80020000                   # CONFIRMED_R, USE_PNFS_MDS
		00000000                   # SP4_NONE
		0000000000000005           # so_minor_id
		00000002 6d6a0000          # so_major_id "mj"
		00000005 73636f70 65000000 # eir_server_scope "scope"
		00000001                   # one eir_server_impl_id
		00000004 652e7465          # nii_domain "e.te"
		00000001 6e000000          # nii_name "n"
		0000000000000007 00000008  # nii_date`
	createSessionCall = `
		00000000 00000001 00000001 # tag, minor version, one operation
		0000002b                   # CREATE_SESSION, 18.36.1
		1122334455667788           # csa_clientid
		00000009                   # csa_sequence
		00000002                   # CONN_BACK_CHAN
		00000000 00100400 00100400 00000800 00000008 00000040 00000000 # csa_fore_chan_attrs
		00000000 00001000 00001000 00000000 00000002 00000001 00000000 # csa_back_chan_attrs
		40000000                   # csa_cb_program
		00000001                   # one csa_sec_parms
		00000000                   # AUTH_NONE`
	createSessionReply = `
		00000000 00000000 00000001 # NFS4_OK, tag, one result
		0000002b 00000000          # CREATE_SESSION, NFS4_OK, 18.36.2
		000102030405060708090a0b0c0d0e0f # csr_sessionid
		00000009                   # csr_sequence
		00000002                   # CONN_BACK_CHAN
		00000000 00100000 00100000 00000400 00000008 00000010 00000000 # csr_fore_chan_attrs
		00000000 00001000 00001000 00000000 00000002 00000001 00000000 # csr_back_chan_attrs`
	readCall = `
		00000000 00000001 00000003 # tag, minor version, three operations
		00000035                   # SEQUENCE, 18.46.1
		000102030405060708090a0b0c0d0e0f # sa_sessionid
		00000006 00000002 0000000f # sa_sequenceid, sa_slotid, sa_highest_slotid
		00000000                   # sa_cachethis
		00000016                   # PUTFH, 18.19.1
		00000005 66696c65 31000000 # object "file1"
		00000019                   # READ, 18.22.1
		00000000 101112131415161718191a1b # stateid
		0000000100000000           # offset
		00002000                   # count`
	readReply = `
		00000000 00000000 00000003 # NFS4_OK, tag, three results
		00000035 00000000          # SEQUENCE, NFS4_OK, 18.46.2
		000102030405060708090a0b0c0d0e0f # sr_sessionid
		00000006 00000002          # sr_sequenceid, sr_slotid
		0000003f 0000001f          # sr_highest_slotid, sr_target_highest_slotid
		00000100                   # RESTART_RECLAIM_NEEDED
		00000016 00000000          # PUTFH, NFS4_OK
		00000019 00000000          # READ, NFS4_OK, 18.22.2
		00000001                   # eof
		00000003 61626300          # data "abc"`
)

func goldenSession() v4.SessionID {
	return v4.SessionID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
}

func goldenStateID() v4.StateID {
	return v4.StateID{Other: [12]byte{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}}
}

func goldenOperations() (x v4.ExchangeID, s v4.CreateSession, read []v4.Operation) {
	x = v4.ExchangeID{
		Verifier: v4.Verifier{1, 2, 3, 4, 5, 6, 7, 8}, Owner: []byte("abc"), Flags: v4.ExchangeUsePNFSMDS | 1,
		ClientID: 0x1122334455667788, Seq: 9, Granted: v4.ExchangeConfirmed | v4.ExchangeUsePNFSMDS, ServerMinor: 5,
		ServerMajor: []byte("mj"), ServerScope: []byte("scope"), Server: []v4.Implementation{{"e.te", "n", v4.Time{7, 8}}},
	}
	back := v4.ChannelAttrs{MaxRequest: 4096, MaxResponse: 4096, MaxOperations: 2, MaxRequests: 1}
	s = v4.CreateSession{
		ClientID: x.ClientID, Seq: 9, Flags: v4.SessionConnBackChan,
		Fore: v4.ChannelAttrs{MaxRequest: 1<<20 + 1024, MaxResponse: 1<<20 + 1024, MaxResponseCached: 2048, MaxOperations: 8, MaxRequests: 64},
		Back: back, CallbackProgram: v4.CallbackProgram,
		Security: []v4.CallbackSecurity{{Flavour: v4.FlavourNone}},
		Session:  goldenSession(), GrantedSeq: 9, GrantedFlags: v4.SessionConnBackChan,
		GrantedFore: v4.ChannelAttrs{MaxRequest: 1 << 20, MaxResponse: 1 << 20, MaxResponseCached: 1024, MaxOperations: 8, MaxRequests: 16},
		GrantedBack: back,
	}
	read = []v4.Operation{
		&v4.Sequence{goldenSession(), 6, 2, 15, false, v4.SequenceHead{goldenSession(), 6, 2, 63, 31, v4.SeqRestartReclaimNeeded}},
		&v4.PutFH{[]byte("file1")},
		&nfs4wire.Read{StateID: goldenStateID(), Offset: 1 << 32, Count: 8192, EOF: true, Data: []byte("abc")},
	}
	return x, s, read
}

func TestTheBytesAreThoseOfTheRFC(t *testing.T) {
	x, s, read := goldenOperations()
	for name, tc := range map[string]struct {
		ops         []v4.Operation
		call, reply string
	}{
		"EXCHANGE_ID":           {[]v4.Operation{&x}, exchangeIDCall, exchangeIDReply},
		"CREATE_SESSION":        {[]v4.Operation{&s}, createSessionCall, createSessionReply},
		"SEQUENCE, PUTFH, READ": {read, readCall, readReply},
	} {
		t.Run(name, func(t *testing.T) {
			want := fore{v4.Compound{Minor: 1, Ops: tc.ops}}
			if diff := cmp.Diff(golden(t, tc.call), want.Append(nil)); diff != "" {
				t.Errorf("the call (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(golden(t, tc.reply), want.AppendReply(nil, v4.OK, len(tc.ops))); diff != "" {
				t.Errorf("the reply (-want +got):\n%s", diff)
			}
			var got fore
			d := xdr.NewDecoder(golden(t, tc.call))
			if err := got.DecodeCall(&d); err != nil {
				t.Fatal(err)
			}
			d = xdr.NewDecoder(golden(t, tc.reply))
			if done, err := got.DecodeReply(&d); err != nil || done != len(tc.ops) {
				t.Fatalf("%d operations done, err = %v", done, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// words encodes numbers.
func words(all ...uint32) []byte {
	var b []byte
	for _, w := range all {
		b = xdr.AppendUint32(b, w)
	}
	return b
}

func TestAReplyThatCannotBelongToTheCallIsRefused(t *testing.T) {
	const putRootFH, putFH, delay = 24, 22, uint32(v4.ErrDelay)
	for name, tc := range map[string]struct {
		reply []byte
		done  int
		want  error
		op    v4.Op // of an *OpError; OpCompound otherwise
	}{
		"all is well":               {words(0, 0, 2, putRootFH, 0, putFH, 0), 2, nil, 0},
		"the second fails":          {words(delay, 0, 2, putRootFH, 0, putFH, delay), 1, v4.ErrDelay, v4.OpPutFH},
		"the first fails":           {words(delay, 0, 1, putRootFH, delay), 0, v4.ErrDelay, v4.OpPutRootFH},
		"the compound fails":        {words(10021, 0, 0), 0, v4.ErrMinorVersMismatch, v4.OpCompound},
		"no such operation":         {words(10044, 0, 1, 10044, 10044), 0, v4.ErrOpIllegal, v4.OpPutRootFH},
		"illegal, but for a delay":  {words(delay, 0, 1, 10044, delay), 0, v4.ErrOrder, 0},
		"another order":             {words(0, 0, 2, putFH, 0, putRootFH, 0), 0, v4.ErrOrder, 0},
		"more results":              {words(0, 0, 3, putRootFH, 0, putFH, 0, putFH, 0), 0, v4.ErrTooManyResults, 0},
		"4 Gi results":              {words(0, 0, 1<<32-1), 0, v4.ErrTooManyResults, 0},
		"fewer results":             {words(0, 0, 1, putRootFH, 0), 0, v4.ErrTooFewResults, 0},
		"no results":                {words(0, 0, 0), 0, v4.ErrTooFewResults, 0},
		"fewer, all OK, but failed": {words(delay, 0, 1, putRootFH, 0), 0, v4.ErrContradiction, 0},
		"results after a failure":   {words(delay, 0, 2, putRootFH, delay, putFH, delay), 0, v4.ErrContradiction, 0},
		"OK although one failed":    {words(0, 0, 2, putRootFH, 0, putFH, delay), 1, v4.ErrContradiction, 0},
		"another status":            {words(delay, 0, 2, putRootFH, 0, putFH, 70), 1, v4.ErrContradiction, 0},
		"bytes behind the end":      {words(0, 0, 2, putRootFH, 0, putFH, 0, 0), 2, v4.ErrTrailing, 0},
		"bytes behind the failure":  {words(delay, 0, 1, putRootFH, delay, 0), 0, v4.ErrTrailing, 0},
		"a long tag":                {words(0, v4.MaxTagBytes+1), 0, xdr.ErrTooLong, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := v4.Compound{Ops: []v4.Operation{&v4.PutRootFH{}, &v4.PutFH{}}}
			d := xdr.NewDecoder(tc.reply)
			done, err := p.DecodeReply(&d)
			if done != tc.done || !errors.Is(err, tc.want) {
				t.Errorf("%d operations done, err = %v; want %d, %v", done, err, tc.done, tc.want)
			}
			if _, ok := errors.AsType[v4.Status](tc.want); ok {
				var failed *v4.OpError
				if !errors.As(err, &failed) || failed.Op != tc.op {
					t.Errorf("err = %#v, want a failure of %s", err, tc.op)
				}
			} else if tc.want != nil && !isProtocolError(err) {
				t.Errorf("err = %#v, want a *ProtocolError", err)
			}
		})
	}
}

func TestACallEndsAtTheFirstOperationThatIsNotImplemented(t *testing.T) {
	for name, tc := range map[string]struct {
		m      message
		minor  uint32
		number uint32
		want   v4.Unsupported
		op     v4.Op
	}{
		"LINK":               {&fore{}, 0, 11, v4.Unsupported{Number: 11, Status: v4.ErrNotSupp}, 11},
		"SEQUENCE in 4.0":    {&fore{}, 0, 53, v4.Unsupported{Number: v4.OpSequence, Status: v4.ErrOpIllegal}, v4.OpCBIllegal},
		"RENEW in 4.1":       {&fore{}, 1, 30, v4.Unsupported{Number: v4.OpRenew, Status: v4.ErrNotSupp}, v4.OpRenew},
		"number 59":          {&fore{}, 1, 59, v4.Unsupported{Number: 59, Status: v4.ErrOpIllegal}, v4.OpCBIllegal},
		"number 2":           {&fore{}, 0, 2, v4.Unsupported{Number: 2, Status: v4.ErrOpIllegal}, v4.OpCBIllegal},
		"CB_NOTIFY":          {&back{}, 1, 6, v4.Unsupported{Number: v4.OpCBCompound | 6, Status: v4.ErrNotSupp}, v4.OpCBCompound | 6},
		"callback number 15": {&back{}, 1, 15, v4.Unsupported{Number: v4.OpCBCompound | 15, Status: v4.ErrOpIllegal}, v4.OpCBIllegal},
	} {
		t.Run(name, func(t *testing.T) {
			head := words(0, tc.minor)
			if _, ok := tc.m.(*back); ok {
				head = words(0, tc.minor, 7)
			}
			d := xdr.NewDecoder(append(head, words(2, tc.number, 0xFFFFFFFF, 0xFFFFFFFF)...))
			if err := tc.m.DecodeCall(&d); err != nil {
				t.Fatal(err)
			}
			ops := opsOf(tc.m)
			u, ok := ops[len(ops)-1].(*v4.Unsupported)
			if !ok || len(ops) != 1 || *u != tc.want || u.Op() != tc.op {
				t.Fatalf("the operations are %+v, want %+v", ops, tc.want)
			}
			want := words(uint32(u.Status), 0, 1, tc.op.Number(), uint32(u.Status))
			if got := tc.m.AppendReply(nil, u.Status, 0); !bytes.Equal(got, want) {
				t.Errorf("the reply is %x, want %x", got, want)
			}
		})
	}
}

func TestAMinorVersionThatDoesNotExistIsAnsweredWithoutResults(t *testing.T) {
	var p fore
	d := xdr.NewDecoder(words(0, 2, 1, 99))
	if err := p.DecodeCall(&d); err != nil || p.Minor != 2 || len(p.Ops) != 0 {
		t.Fatalf("%+v, err = %v", p, err)
	}
	if got := p.AppendReply(nil, v4.ErrMinorVersMismatch, 0); !bytes.Equal(got, words(10021, 0, 0)) {
		t.Errorf("the reply is %x", got)
	}
}

func TestACallIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		call []byte
		want error
	}{
		"65 operations":      {words(0, 0, v4.MaxOperations+1), xdr.ErrTooLong},
		"a bitmap of 9":      {words(0, 0, 1, 9, v4.MaxBitmapWords+1), xdr.ErrTooLong},
		"a handle of 129":    {words(0, 0, 1, 22, v4.MaxHandleBytes+1), xdr.ErrTooLong},
		"more than is there": {words(0, 1, 1, 55, v4.MaxStateIDs, 1, 2), xdr.ErrShort},
		"1025 state IDs":     {words(0, 1, 1, 55, v4.MaxStateIDs+1, 1, 2), xdr.ErrTooLong},
		"CREATE of a FIFO":   {words(0, 0, 1, 6, 7), xdr.ErrBadValue},
		"SP4_SSV":            {words(0, 1, 1, 42, 1, 2, 0, 0, 2), xdr.ErrBadValue},
		"bytes behind":       {words(0, 0, 1, 24, 0), v4.ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			var p fore
			d := xdr.NewDecoder(tc.call)
			if err := p.DecodeCall(&d); !errors.Is(err, tc.want) || !isProtocolError(err) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

func TestAttributesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		in   []byte
		want error
	}{
		"one that is not known":    {words(1, 1<<12, 4, 0), xdr.ErrBadValue},
		"one above all that exist": {words(8, 0, 0, 0, 0, 0, 0, 0, 1<<31, 0), xdr.ErrBadValue},
		"more values than bits":    {words(1, 1<<v4.AttrType, 8, 1, 2), v4.ErrTrailing},
		"fewer values than bits":   {words(1, 1<<v4.AttrSize, 4, 1), xdr.ErrShort},
	} {
		t.Run(name, func(t *testing.T) {
			var a v4.Attrs
			d := xdr.NewDecoder(tc.in)
			if xdr.Decode(&d, &a); !errors.Is(d.Err(), tc.want) {
				t.Errorf("err = %v, want %v", d.Err(), tc.want)
			}
		})
	}
}

func TestAttributesThatAreNotKnownAreNotSent(t *testing.T) {
	a := v4.Attrs{Mask: v4.Bits(v4.AttrType, 12, v4.AttrMode, 200), Type: v4.TypeDirectory, Mode: 0o755}
	want := words(2, 1<<v4.AttrType, 1<<(v4.AttrMode-32), 8, 2, 0o755)
	if got := xdr.Append(nil, &a); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestABitmapHasTheBitsThatWereSet(t *testing.T) {
	b := v4.Bits(0, 33, 255, 256)
	for bit := range uint32(300) {
		if got, want := b.Has(bit), bit == 0 || bit == 33 || bit == 255; got != want {
			t.Errorf("bit %d: %v, want %v", bit, got, want)
		}
	}
}
