package nfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// protoV3 is NFS version 3 over a transport.
type protoV3 struct {
	t *transport
	// head is what every request begins with; the procedure is filled in.
	head []byte
	ops  sync.Pool // of *op, for everything but READ and WRITE
}

const (
	jukeboxFirst = 100 * time.Millisecond
	jukeboxMax   = 5 * time.Second
)

func newProtoV3(t *transport, cred rpc.Auth) *protoV3 {
	p := &protoV3{t: t, head: rpc.AppendCall(nil, v3.Program, v3.Version, 0, cred)}
	p.ops.New = func() any { return new(op) }
	return p
}

// prepare starts the request of o.
func (p *protoV3) prepare(o *op, procedure uint32) {
	o.call.Reset()
	o.call.Request = append(o.call.Request, p.head...)
	rpc.PutProcedure(o.call.Request, procedure)
}

// beginRead implements dataProtocol.
func (p *protoV3) beginRead(ctx context.Context, o *op, file []byte, dst []byte, off uint64) {
	p.prepare(o, v3.ProcRead)
	args := v3.ReadArgs{Handle: file, Offset: off, Count: uint32(len(dst))}
	o.call.Request = args.Append(o.call.Request)
	o.call.Dst, o.call.Layout = dst, readLayout
	p.t.begin(ctx, o)
}

// Sizes of the results of READ up to the data.
const (
	readStart   = 8                   // status and whether attributes follow
	readCounts  = 12                  // count, eof, length of the data
	readAttrEnd = readStart + 84 + 12 // the same behind attributes
)

// readLayout is the rpc.Layout of READ results.
func readLayout(results []byte) (more, data int) {
	switch len(results) {
	case 0:
		return readStart, 0
	case readStart:
		if v3.Status(binary.BigEndian.Uint32(results)) != v3.OK {
			return 0, 0
		}
		if binary.BigEndian.Uint32(results[4:]) != 0 {
			return readAttrEnd - readStart, 0
		}
		return readCounts, 0
	}
	// A length beyond the limit is cut to what still fits no buffer, so that the
	// connection refuses it.
	n := binary.BigEndian.Uint32(results[len(results)-4:])
	return 0, int(min(n, v3.MaxDataBytes+1))
}

// endRead implements dataProtocol.
func (p *protoV3) endRead(ctx context.Context, o *op) (n int, eof bool, err error) {
	for wait := jukeboxFirst; ; wait = min(2*wait, jukeboxMax) {
		if err := p.t.finish(ctx, o); err != nil {
			return 0, false, err
		}
		var res v3.ReadRes
		d := xdr.NewDecoder(o.call.Results)
		data := res.DecodeHead(&d)
		if err := decoded(&d, res.Status); err != nil {
			if p.again(ctx, o, err, wait) {
				continue
			}
			return 0, false, err
		}
		if data != o.call.Received || int(res.Count) != data {
			return 0, false, violation("READ answers with %d bytes of data but counts %d", o.call.Received, res.Count)
		}
		return data, res.EOF, nil
	}
}

// beginWrite implements dataProtocol.
func (p *protoV3) beginWrite(ctx context.Context, o *op, file []byte, src []byte, off uint64, s Stability) {
	p.prepare(o, v3.ProcWrite)
	args := v3.WriteArgs{Handle: file, Offset: off, Count: uint32(len(src)), Stable: v3.Stable(s)}
	o.call.Request = args.AppendHead(o.call.Request, len(src))
	o.call.Data = src
	p.t.begin(ctx, o)
}

// endWrite implements dataProtocol.
func (p *protoV3) endWrite(ctx context.Context, o *op) (n int, got Stability, v verifier, err error) {
	for wait := jukeboxFirst; ; wait = min(2*wait, jukeboxMax) {
		if err := p.t.finish(ctx, o); err != nil {
			return 0, 0, v, err
		}
		var res v3.WriteRes
		d := xdr.NewDecoder(o.call.Results)
		res.DecodeBrief(&d)
		if err := decoded(&d, res.Status); err != nil {
			if p.again(ctx, o, err, wait) {
				continue
			}
			return 0, 0, v, err
		}
		if res.Count == 0 || int64(res.Count) > int64(len(o.call.Data)) {
			return 0, 0, v, violation("WRITE of %d bytes is answered with %d written", len(o.call.Data), res.Count)
		}
		return int(res.Count), Stability(res.Committed), res.Verifier, nil
	}
}

// commit implements dataProtocol.
func (p *protoV3) commit(ctx context.Context, file []byte) (verifier, error) {
	args := v3.CommitArgs{Handle: file}
	var res v3.CommitRes
	_, err := p.invoke(ctx, v3.ProcCommit, args.Append, func(d *xdr.Decoder) v3.Status {
		res.Decode(d)
		return res.Status
	})
	return res.Verifier, err
}

// again makes the call of o once more after the server asked to try later. It
// returns false when err says something else or when waiting is over.
func (p *protoV3) again(ctx context.Context, o *op, err error, wait time.Duration) bool {
	if !v3.IsRetryLater(err) {
		return false
	}
	if p.t.clock.Load()-o.started+int64(wait) > int64(p.t.timeout) {
		return false
	}
	// A tenth of disorder keeps many waiting calls from coming back together.
	timer := time.NewTimer(wait + rand.N(wait/10))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	// The server remembers its reply to the old xid, so ask under a new one.
	o.call.NewXID()
	p.t.send(ctx, o)
	return true
}

// invoke makes a call without bulk data. It reports how many connections were
// tried, because a call that changes names may have been executed by a server
// whose reply was lost.
func (p *protoV3) invoke(
	ctx context.Context, procedure uint32,
	args func([]byte) []byte, results func(*xdr.Decoder) v3.Status,
) (attempts int, err error) {
	o := p.ops.Get().(*op)
	defer p.ops.Put(o)
	p.prepare(o, procedure)
	o.call.Request = args(o.call.Request)
	p.t.begin(ctx, o)
	for wait := jukeboxFirst; ; wait = min(2*wait, jukeboxMax) {
		if err := p.t.finish(ctx, o); err != nil {
			return o.attempts, err
		}
		d := xdr.NewDecoder(o.call.Results)
		status := results(&d)
		err := decoded(&d, status)
		if err == nil || !p.again(ctx, o, err, wait) {
			return o.attempts, err
		}
	}
}

// decoded turns what a decoder and a status say into an error. A failure may
// come with less than the whole structure: then the status is what matters.
func decoded(d *xdr.Decoder, status v3.Status) error {
	if status != v3.OK {
		return status
	}
	if err := d.Err(); err != nil {
		return &rpc.ProtocolError{Err: err}
	}
	return nil
}

func violation(format string, args ...any) error {
	return &rpc.ProtocolError{Err: fmt.Errorf(format, args...)}
}
