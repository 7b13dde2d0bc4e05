package nfs

import (
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// dataV3 is the stream.Protocol of NFSv3.
type dataV3 struct {
	head []byte // head of every call; the procedure is filled in
}

// Append implements stream.Protocol.
func (v *dataV3) Append(b []byte, p *stream.Part) ([]byte, error) {
	from := len(b)
	b = append(b, v.head...)
	io := p.IO
	if io.Write {
		rpc.PutProcedure(b[from:], v3.ProcWrite)
		args := v3.WriteArgs{
			Handle: io.Handle, Offset: p.Offset(), Count: uint32(p.Bytes()), Stable: v3.Stable(io.Stable),
		}
		return args.AppendHead(b, p.Bytes()), nil
	}
	rpc.PutProcedure(b[from:], v3.ProcRead)
	args := v3.ReadArgs{Handle: io.Handle, Offset: p.Offset(), Count: uint32(p.Bytes())}
	return args.Append(b), nil
}

// Decode implements stream.Protocol.
func (v *dataV3) Decode(d *xdr.Decoder, p *stream.Part) (r stream.Results) {
	var status v3.Status
	if p.IO.Write {
		var res v3.WriteRes
		res.DecodeBrief(d)
		status, r.Count = res.Status, int(res.Count)
		r.Committed, r.Verifier.Value = stream.Stability(res.Committed), res.Verifier
	} else {
		var res v3.ReadRes
		r.Data = res.DecodeHead(d)
		status, r.Count, r.EOF = res.Status, int(res.Count), res.EOF
	}
	if status == v3.OK {
		return r
	}
	r = stream.Results{Err: status}
	if status == v3.ErrJukebox {
		r.Next = stream.Delay
	}
	return r
}
