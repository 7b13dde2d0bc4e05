package main

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// message builds XDR.
type message []byte

func (m message) u32(v ...uint32) message {
	for _, x := range v {
		m = binary.BigEndian.AppendUint32(m, x)
	}
	return m
}

func (m message) opaque(b []byte) message {
	m = append(m.u32(uint32(len(b))), b...)
	for len(m)%4 != 0 {
		m = append(m, 0)
	}
	return m
}

func (m message) zeros(n int) message { return append(m, make([]byte, n)...) }

// callOf begins a call with a credential of 20 bytes.
func callOf(xid, program, version, procedure uint32) message {
	return message{}.u32(xid, msgCall, 2, program, version, procedure, 1).opaque(make([]byte, 20)).u32(0, 0)
}

// handleOf is a file handle of the export, as NFS-Ganesha builds it.
func handleOf(export byte) []byte { return []byte{0x43, 1, 0, export, 8, 9, 9, 9, 9, 9, 9, 9, 9} }

func replyTo(xid uint32) message { return message{}.u32(xid, msgReply, 0, 0, 0, 0) }

// then appends operations of a COMPOUND.
func (m message) then(ops ...message) message {
	for _, op := range ops {
		m = append(m, op...)
	}
	return m
}

// compoundOf begins a COMPOUND of so many operations.
func compoundOf(xid, minor, ops uint32) message {
	return callOf(xid, progNFS, 4, 1).opaque([]byte("tag")).u32(minor, ops)
}

// resultsOf begins the reply to a COMPOUND.
func resultsOf(xid, status, results uint32) message {
	return replyTo(xid).u32(status).opaque([]byte("tag")).u32(results)
}

// Operations, and results with status NFS4_OK, of RFC 8881 section 18.
func sequence() message           { return message{}.u32(opSequence).zeros(32) }
func putFH(export byte) message   { return message{}.u32(opPutFH).opaque(handleOf(export)) }
func lookup(name string) message  { return message{}.u32(opLookup).opaque([]byte(name)) }
func read4() message              { return message{}.u32(opRead).zeros(28) }
func write4(bytes uint32) message { return message{}.u32(opWrite).zeros(28).u32(bytes) }
func sequenced() message          { return message{}.u32(opSequence, 0).zeros(36) }
func done(op uint32) message      { return message{}.u32(op, 0) }

const opGetattr = 9

func TestCallsAreToldApart(t *testing.T) {
	cases := map[string]struct {
		call message
		want header
	}{
		"READ": {
			callOf(7, progNFS, 3, nfs3Read).opaque(handleOf(5)).u32(0, 0, 4096),
			header{xid: 7, kind: kindRead, protocol: "nfs3", version: 3, export: 5, hasFH: true},
		},
		"WRITE": {
			callOf(7, progNFS, 3, nfs3Write).opaque(handleOf(1)).u32(0, 8192, 512, 2, 512),
			header{xid: 7, kind: kindWrite, protocol: "nfs3", version: 3, export: 1, hasFH: true, bytes: 512},
		},
		"GETATTR": {
			callOf(7, progNFS, 3, 1).opaque(handleOf(1)),
			header{xid: 7, kind: kindOther, protocol: "nfs3", version: 3, export: 1, hasFH: true},
		},
		"NULL": {callOf(7, progNFS, 3, 0), header{xid: 7, version: 3}},
		"MNT":  {callOf(7, progMount, 3, mountMNT).opaque([]byte("/vol/a")), header{xid: 7, version: 3, path: "/vol/a"}},
		"READ of NFSv4.1 behind SEQUENCE and PUTFH": {
			compoundOf(7, 1, 3).then(sequence(), putFH(3), read4()),
			header{xid: 7, v4: true, kind: kindRead, protocol: "nfs4.1", version: 4, export: 3, hasFH: true},
		},
		"WRITE of NFSv4.0": {
			callOf(7, progNFS, 4, 1).opaque(nil).u32(0, 2).then(putFH(3), write4(100)),
			header{xid: 7, v4: true, kind: kindWrite, protocol: "nfs4", version: 4, export: 3, hasFH: true, bytes: 100},
		},
		"READ of NFSv4.0": {
			compoundOf(7, 0, 2).then(putFH(3), read4()),
			header{xid: 7, v4: true, kind: kindRead, protocol: "nfs4", version: 4, export: 3, hasFH: true},
		},
		"WRITE of NFSv4.1 with GETATTR behind, as Linux sends it": {
			compoundOf(7, 1, 4).then(sequence(), putFH(3), write4(64), message{}.zeros(64).u32(opGetattr, 1, 24)),
			header{xid: 7, v4: true, kind: kindWrite, protocol: "nfs4.1", version: 4, export: 3, hasFH: true, bytes: 64},
		},
		"another COMPOUND": {
			compoundOf(7, 1, 2).then(sequence(), message{}.u32(43)),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4.1", version: 4},
		},
		"another COMPOUND on a file": {
			compoundOf(7, 1, 3).then(sequence(), putFH(2), message{}.u32(opGetattr, 1, 24)),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4.1", version: 4, export: 2, hasFH: true},
		},
		"the walk from the root": {
			compoundOf(7, 0, 4).then(message{}.u32(opPutRootFH), lookup("vol"), lookup("two"), message{}.u32(10)),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4", version: 4, path: "/vol/two"},
		},
		"a LOOKUP below a handle": {
			compoundOf(7, 1, 3).then(sequence(), putFH(2), lookup("file")),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4.1", version: 4, export: 2, hasFH: true},
		},
		"NULL of NFSv4": {callOf(7, progNFS, 4, 0), header{xid: 7, v4: true, version: 4}},
		"a COMPOUND cut off in the handle": {
			compoundOf(7, 1, 3).then(sequence(), putFH(3)[:10]),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4.1", version: 4},
		},
		"a COMPOUND that promises more operations than it has": {
			compoundOf(7, 1, 1<<32-1).then(sequence(), putFH(3)),
			header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4.1", version: 4, export: 3, hasFH: true},
		},
		"a tag that is too long": {
			callOf(7, progNFS, 4, 1).u32(1 << 30), header{xid: 7, v4: true, kind: kindOther, protocol: "nfs4", version: 4},
		},
		"NFSv4 with a credential that is too long": {
			message{}.u32(7, msgCall, 2, progNFS, 4, 1, 6, 1<<30), header{xid: 7, v4: true},
		},
		"cut off":   {callOf(7, progNFS, 3, nfs3Read)[:30], header{xid: 7}},
		"a reply":   {replyTo(7), header{xid: 7, reply: true}},
		"no handle": {callOf(7, progNFS, 3, 1).u32(1 << 30), header{xid: 7, kind: kindOther, protocol: "nfs3", version: 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, readCall(tc.call), cmp.AllowUnexported(header{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRepliesTellWhatWasRead(t *testing.T) {
	attributes := message{}.u32(1).zeros(84)
	cases := map[string]struct {
		kind    kind
		version uint32
		reply   message
		ok      bool
		read    uint32
	}{
		"READ":                    {kindRead, 3, append(replyTo(7).u32(0), attributes.u32(4096, 0, 4096)...), true, 4096},
		"READ without attributes": {kindRead, 3, replyTo(7).u32(0, 0, 512, 1, 512), true, 512},
		"a READ that failed":      {kindRead, 3, append(replyTo(7).u32(70), attributes...), false, 0},
		"WRITE":                   {kindWrite, 3, replyTo(7).u32(0, 0, 0, 512), true, 0},
		"a WRITE that failed":     {kindWrite, 3, replyTo(7).u32(28, 0, 0), false, 0},
		"a call that is refused":  {kindRead, 3, message{}.u32(7, msgReply, 1, 1), false, 0},
		"a call not understood":   {kindRead, 3, message{}.u32(7, msgReply, 0, 0, 0, 4), false, 0},
		"READ of NFSv4.1": {
			kindRead, 4,
			resultsOf(7, 0, 3).then(sequenced(), done(opPutFH), done(opRead).u32(1, 777)), true, 777,
		},
		"READ of NFSv4.0":  {kindRead, 4, resultsOf(7, 0, 2).then(done(opPutFH), done(opRead).u32(0, 512)), true, 512},
		"WRITE of NFSv4.1": {kindWrite, 4, resultsOf(7, 0, 3).then(sequenced(), done(opPutFH), done(opWrite).u32(100, 2)), true, 100},
		"WRITE of NFSv4.0 that took a part": {
			kindWrite, 4, resultsOf(7, 0, 2).then(done(opPutFH), done(opWrite).u32(60, 2)), true, 60,
		},
		"a GETATTR behind the WRITE failed": {
			kindWrite, 4,
			resultsOf(7, 10008, 3).then(done(opPutFH), done(opWrite).u32(100, 2).zeros(8), message{}.u32(opGetattr, 10008)), true, 100,
		},
		"a WRITE of NFSv4.1 that failed": {
			kindWrite, 4, resultsOf(7, 28, 3).then(sequenced(), done(opPutFH), message{}.u32(opWrite, 28)), false, 0,
		},
		"results of another COMPOUND": {kindRead, 4, resultsOf(7, 0, 2).then(sequenced(), done(opWrite).u32(100)), false, 0},
		"results that are cut off":    {kindRead, 4, resultsOf(7, 0, 3).then(sequenced(), done(opPutFH), done(opRead).u32(1)), false, 0},
		"no results":                  {kindRead, 4, resultsOf(7, 0, 0), false, 0},
		"a COMPOUND that failed":      {kindRead, 4, replyTo(7).u32(10052).opaque(nil).u32(1, opSequence, 10052), false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xid, ok, read := readReply(tc.reply, func(uint32) (kind, uint32) { return tc.kind, tc.version })
			if xid != 7 || ok != tc.ok || read != tc.read {
				t.Errorf("xid %d, ok %v, read %d; want 7, %v, %d", xid, ok, read, tc.ok, tc.read)
			}
		})
	}
}

func TestCallsOfServersAreToldFromReplies(t *testing.T) {
	for name, tc := range map[string]struct {
		record message
		want   bool
	}{
		"CB_COMPOUND": {callOf(7, 0x40000000, 1, 1), true},
		"a reply":     {replyTo(7), false},
		"only an xid": {message{}.u32(7), false},
		"nothing":     {nil, false},
	} {
		if _, is := callback(tc.record); is != tc.want {
			t.Errorf("%s: a call: %v", name, is)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte(callOf(7, progNFS, 3, nfs3Write).opaque(handleOf(1)).u32(0, 8192, 512)))
	f.Add([]byte(compoundOf(7, 0, 2).then(putFH(3), write4(100))))
	f.Add([]byte(compoundOf(7, 1, 3).then(sequence(), putFH(3), read4())))
	f.Add([]byte(compoundOf(7, 1, 4).then(sequence(), message{}.u32(opPutRootFH), lookup("export"), lookup("data"))))
	f.Add([]byte(resultsOf(7, 0, 3).then(sequenced(), done(opPutFH), done(opRead).u32(1, 777))))
	f.Add([]byte(resultsOf(7, 0, 3).then(sequenced(), done(opPutFH), done(opWrite).u32(100, 2))))
	f.Add([]byte(replyTo(7).u32(0, 0, 512, 1, 512)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		memory.Bound(t, 64*len(b), func() { h = readCall(b) })
		if h.hasFH && h.protocol == "" {
			t.Errorf("a handle without NFS: %+v", h)
		}
		if len(h.path) > len(b) || h.reply && h.v4 {
			t.Errorf("%d bytes of path, reply %v and NFSv4 %v, of %d bytes", len(h.path), h.reply, h.v4, len(b))
		}
		callback(b)
		memory.Bound(t, 0, func() {
			for _, version := range []uint32{3, 4} {
				for k := range kindWrite + 1 {
					readReply(b, func(uint32) (kind, uint32) { return k, version })
				}
			}
		})
	})
}
