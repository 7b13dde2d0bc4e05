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

func TestCallsAreToldApart(t *testing.T) {
	session := message{}.u32(2, opSequence).zeros(32)
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
			append(callOf(7, progNFS, 4, 1).opaque([]byte("tag")).u32(1), append(message{}.u32(4).u32(opSequence).zeros(32),
				message{}.u32(opPutFH).opaque(handleOf(3)).u32(opRead).zeros(28)...)...),
			header{xid: 7, kind: kindRead, protocol: "nfs4.1", version: 4, export: 3, hasFH: true},
		},
		"WRITE of NFSv4.0": {
			callOf(7, progNFS, 4, 1).opaque(nil).u32(0, 2, opPutFH).opaque(handleOf(3)).u32(opWrite).zeros(28).u32(100),
			header{xid: 7, kind: kindWrite, protocol: "nfs4", version: 4, export: 3, hasFH: true, bytes: 100},
		},
		"another COMPOUND": {
			append(callOf(7, progNFS, 4, 1).opaque(nil).u32(1), append(session, message{}.u32(43)...)...),
			header{xid: 7, kind: kindOther, protocol: "nfs4.1", version: 4},
		},
		"cut off":   {callOf(7, progNFS, 3, nfs3Read)[:30], header{xid: 7}},
		"a reply":   {replyTo(7), header{xid: 7}},
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
			append(replyTo(7).u32(0).opaque([]byte("tag")).u32(3, opSequence, 0).zeros(36), message{}.u32(opPutFH, 0, opRead, 0, 1, 777)...),
			true, 777,
		},
		"a COMPOUND that failed": {kindRead, 4, replyTo(7).u32(10052).opaque(nil).u32(1, opSequence, 10052), false, 0},
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

func FuzzHeader(f *testing.F) {
	f.Add([]byte(callOf(7, progNFS, 3, nfs3Write).opaque(handleOf(1)).u32(0, 8192, 512)))
	f.Add([]byte(callOf(7, progNFS, 4, 1).opaque(nil).u32(0, 2, opPutFH).opaque(handleOf(3)).u32(opWrite).zeros(28).u32(100)))
	f.Add([]byte(replyTo(7).u32(0, 0, 512, 1, 512)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		memory.Bound(t, 64*len(b), func() { h = readCall(b) })
		if h.hasFH && h.protocol == "" {
			t.Errorf("a handle without NFS: %+v", h)
		}
		for _, version := range []uint32{3, 4} {
			readReply(b, func(uint32) (kind, uint32) { return kindRead, version })
		}
	})
}
