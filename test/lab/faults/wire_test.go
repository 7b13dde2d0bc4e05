package faults

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// rewriting is what a server sends in place of a reply, see faulty.Server.
type rewriting func(reply []byte) (out []byte, more bool)

const (
	markBytes = rpc.RecordMarkBytes
	// resultsAt is where the results begin behind mark and header.
	resultsAt = markBytes + 24
	// dataLengthAt is where a READ tells the length of its data, behind status,
	// attributes, count and end-of-file.
	dataLengthAt = resultsAt + 4 + 4 + 84 + 8
)

// record puts the right mark in front of a reply again.
func record(reply []byte) []byte {
	rpc.PutRecordMark(reply, len(reply)-markBytes)
	return reply
}

// fragments cuts a record into fragments of at most so many bytes, with an empty
// one after each if empty is set.
func fragments(reply []byte, size int, empty bool) []byte {
	var out []byte
	for body := reply[markBytes:]; len(body) > 0; {
		n := min(size, len(body))
		last := uint32(0)
		if n == len(body) {
			last = 1 << 31
		}
		if empty {
			out = append(out, 0, 0, 0, 0)
		}
		out = append(binary.BigEndian.AppendUint32(out, last|uint32(n)), body[:n]...)
		body = body[n:]
	}
	return out
}

func TestRepliesInAnyLegalShapeAreUnderstood(t *testing.T) {
	for name, rewrite := range map[string]rewriting{
		"fragments of one byte":      func(r []byte) ([]byte, bool) { return fragments(r, 1, false), true },
		"fragments of odd size":      func(r []byte) ([]byte, bool) { return fragments(r, 1013, false), true },
		"fragments around the data":  func(r []byte) ([]byte, bool) { return fragments(r, dataLengthAt+4-markBytes, false), true },
		"empty fragments in between": func(r []byte) ([]byte, bool) { return fragments(r, 500, true), true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &faulty.Server{Rewrite: func(_ faulty.Call, r []byte) ([]byte, bool) { return rewrite(r) }}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			l := run(t, plan(twoPaths(s), 2, pattern(bench.PatternCopy)))
			wantClean(t, l)
			wantUntouched(t, l)
		})
	}
}

func TestRepliesThatTrickleInOneByOneAreUnderstood(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.1")
	for _, p := range through(t, "127.0.0.1", s.Port(), "127.0.0.2", "127.0.0.3") {
		p.trickle.Store(true)
	}
	l := run(t, plan(twoPaths(s), 3, load(512, 4, 1), pattern(bench.PatternCopy)))
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestRepliesInAnyOrderFindTheirCalls(t *testing.T) {
	t.Parallel()
	d := newDice(11)
	s := &faulty.Server{Delay: func(faulty.Call) time.Duration { return time.Duration(d.below(10_000)) * time.Microsecond }}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	l := run(t, plan(twoPaths(s), 3, load(4096, 32, 2), pattern(bench.PatternCopy)))
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestAServerThatTakesOrGivesLessIsAskedForTheRest(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{Short: func(faulty.Call) uint32 { return 1000 }}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	l := run(t, plan(twoPaths(s), 3, pattern(bench.PatternCopy)))
	wantClean(t, l)
	wantUntouched(t, l)
}

// lie is a way to break the protocol.
type lie struct {
	says    string // what the user reads when the server never stops
	rewrite rewriting
	writes  bool // the lie is told to WRITEs; else to READs
}

func lies() map[string]lie {
	return map[string]lie{
		"a record of 2 GiB": {says: "larger than allowed", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r, 1<<32-1)
			return r, true
		}},
		"more data than asked for": {says: "more data than", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[dataLengthAt:], 8192+4096)
			return record(append(r, make([]byte, 4096)...)), true
		}},
		"a length of 4 GiB": {says: "longer than allowed", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[dataLengthAt:], 1<<32-1)
			return r, true
		}},
		"a count that is not the length": {says: "counts", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[dataLengthAt-8:], 17)
			return r, true
		}},
		"a record that ends early": {says: "ends too early", rewrite: func(r []byte) ([]byte, bool) {
			return record(r[:len(r)-4000]), true
		}},
		"a record without results": {says: "ends too early", rewrite: func(r []byte) ([]byte, bool) {
			return record(r[:resultsAt]), true
		}},
		"a call instead of a reply": {says: "not a reply", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[markBytes+4:], 0)
			return r, true
		}},
		"an xid of nobody": {says: "never made", rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[markBytes:], ^binary.BigEndian.Uint32(r[markBytes:]))
			return r, true
		}},
		"a reply twice": {says: "never made", rewrite: func(r []byte) ([]byte, bool) {
			return append(append([]byte{}, r...), r...), true
		}},
		"noise": {says: "larger than allowed", rewrite: func(r []byte) ([]byte, bool) {
			for i := range r {
				r[i] = byte(0xA5 ^ i)
			}
			return r, true
		}},
		"a write of more than was sent": {says: "answered with", writes: true, rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[len(r)-16:], 1<<20)
			return r, true
		}},
		"a write of nothing": {says: "answered with", writes: true, rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[len(r)-16:], 0)
			return r, true
		}},
		"a write that is less stable than asked": {says: "stab", writes: true, rewrite: func(r []byte) ([]byte, bool) {
			binary.BigEndian.PutUint32(r[len(r)-12:], 0)
			return r, true
		}},
	}
}

// liar tells a lie in so many replies to data calls, once it is switched on.
func liar(l lie, times int64) (s *faulty.Server, on *atomic.Bool, told *atomic.Int64) {
	on, told = &atomic.Bool{}, &atomic.Int64{}
	return &faulty.Server{Rewrite: func(c faulty.Call, reply []byte) ([]byte, bool) {
		if !on.Load() || l.writes != c.IsWrite() || !isData(c) || told.Add(1) > times {
			return reply, true
		}
		return l.rewrite(append([]byte{}, reply...))
	}}, on, told
}

func (l lie) kind() func(*runfile.Plan) {
	if l.writes {
		return pattern(bench.PatternRandomWrite)
	}
	return pattern(bench.PatternRandomRead)
}

// TestAServerThatLiesOnceCostsAConnectionAndNoMore has lies that concern the
// stream; those that concern one call are final at once.
func TestAServerThatLiesOnceCostsAConnectionAndNoMore(t *testing.T) {
	for name, l := range lies() {
		switch name {
		case "a reply twice": // it is skipped
			continue
		case "a count that is not the length", "a write of more than was sent", "a write of nothing", "a write that is less stable than asked":
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, on, told := liar(l, 1)
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 3, l.kind()))
			r.underLoad()
			on.Store(true)
			got := r.finish()
			if told.Load() == 0 {
				t.Fatal("the server told no lie: the test proves nothing")
			}
			wantClean(t, got)
			lost := int64(0)
			for _, c := range channels(got) {
				lost += c.Reconnects
			}
			if lost == 0 {
				t.Error("a connection that lied is still in use")
			}
		})
	}
}

func TestAServerThatLiesAlwaysEndsTheRunAndIsQuoted(t *testing.T) {
	for name, l := range lies() {
		if name == "a reply twice" {
			continue // each call is answered: there is nothing to fail
		}
		t.Run(name, func(t *testing.T) { // not in parallel: memory is counted
			s, on, _ := liar(l, 1<<60)
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 60, l.kind()))
			r.underLoad()
			var got *runfile.Load
			began := time.Now()
			memory.Bound(t, 256<<20, func() {
				on.Store(true)
				r.awaitEnd()
				on.Store(false)
				got = r.finish()
			})
			took(t, "until the run ends", began, 20*time.Second)
			wantFailure(t, got, runfile.FailureProtocol, l.says, "make no sense")
		})
	}
}

func TestARefusalByRPCIsFinalAndQuoted(t *testing.T) {
	for name, tc := range map[string]struct {
		header rpc.ReplyHeader
		code   string
		says   string
	}{
		"system error":      {rpc.ReplyHeader{Accept: rpc.AcceptSystemErr}, runfile.FailureIO, "system error"},
		"garbage arguments": {rpc.ReplyHeader{Accept: rpc.AcceptGarbageArgs}, runfile.FailureIO, "decode the arguments"},
		"other versions":    {rpc.ReplyHeader{Accept: rpc.AcceptProgramMismatch, Low: 4, High: 4}, runfile.FailureIO, "versions 4 to 4"},
		"no such program":   {rpc.ReplyHeader{Accept: rpc.AcceptProgramUnavail}, runfile.FailureIO, "this program"},
		"denied":            {rpc.ReplyHeader{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthTooWeak}, runfile.FailureAccessDenied, "AUTH_TOOWEAK"},
		"other RPC version": {rpc.ReplyHeader{Denied: true, Reject: rpc.RejectVersion, Low: 3, High: 3}, runfile.FailureIO, "RPC versions 3 to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var on atomic.Bool
			s := &faulty.Server{Rewrite: func(c faulty.Call, reply []byte) ([]byte, bool) {
				if !on.Load() || !isData(c) {
					return reply, true
				}
				h := tc.header
				h.XID = c.XID
				return record(h.Append(make([]byte, markBytes))), true
			}}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 60, pattern(bench.PatternRandomRead)))
			r.await(runfile.SpanMeasure)
			on.Store(true)
			r.awaitEnd()
			wantFailure(t, r.finish(), tc.code, tc.says)
		})
	}
}
