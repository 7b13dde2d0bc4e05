package rpc

import (
	"net"
	"runtime"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// batch is what leaves in one write: the bytes of all requests one after the
// other, and the places where bulk data go in between.
type batch struct {
	bytes []byte
	cuts  []cut
	calls int
	data  int
	iov   [][]byte
	out   net.Buffers
}

// cut says that the data of call follow the first at bytes of the batch.
type cut struct {
	at   int
	call *Call
}

func (b *batch) add(call *Call) {
	b.calls++
	b.bytes = append(b.bytes, call.Request...)
	if len(call.Data) == 0 {
		return
	}
	b.data += len(call.Data)
	b.cuts = append(b.cuts, cut{at: len(b.bytes), call: call})
	b.bytes = xdr.AppendPadding(b.bytes, len(call.Data))
}

func (b *batch) reset() {
	clear(b.iov)
	clear(b.cuts)
	b.bytes, b.cuts, b.iov = b.bytes[:0], b.cuts[:0], b.iov[:0]
	b.calls, b.data = 0, 0
}

// writeTo writes the batch, with one writev where nc is a TCP connection.
func (b *batch) writeTo(nc net.Conn) (int64, error) {
	if len(b.cuts) == 0 {
		n, err := nc.Write(b.bytes)
		return int64(n), err
	}
	from := 0
	for _, c := range b.cuts {
		if c.at > from {
			b.iov = append(b.iov, b.bytes[from:c.at])
		}
		b.iov = append(b.iov, c.call.Data)
		from = c.at
	}
	if from < len(b.bytes) {
		b.iov = append(b.iov, b.bytes[from:])
	}
	// WriteTo eats the slice it works on; iov keeps the memory for next time.
	b.out = net.Buffers(b.iov)
	return b.out.WriteTo(nc)
}

func (c *Conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// flushSmall writes what is pending from the goroutine of a caller, which saves
// a switch of goroutines when one call is outstanding. With more calls around it
// first lets the other goroutines run, so that requests made at the same moment
// leave in one write. Bulk data are left to the writer goroutine: writing them
// may block, and a caller must stay able to give up.
func (c *Conn) flushSmall(alone bool) {
	if !alone {
		runtime.Gosched()
	}
	c.mu.Lock()
	// The writer goroutine is gone once the connection has failed, so nothing
	// may be left to it then.
	more := c.pending.data > 0 && c.err == nil
	if !more {
		more = c.writeLocked()
	}
	if more {
		c.flush = flushWriter
	} else {
		c.flush = flushIdle
		c.drainLocked()
	}
	c.mu.Unlock()
	if more {
		c.wakeWriter()
	}
}

// writeLoop writes what callers leave to it, until the connection has failed.
func (c *Conn) writeLoop() {
	for range c.wake {
		c.mu.Lock()
		if c.flush == flushWriter {
			for c.writeLocked() {
			}
			c.flush = flushIdle
			c.drainLocked()
		}
		over := c.err != nil
		c.mu.Unlock()
		if over {
			return
		}
	}
}

// writeLocked writes the pending batch, with c.mu released meanwhile, and reports
// whether more is pending. The caller owns c.flush.
func (c *Conn) writeLocked() (more bool) {
	if c.err != nil || len(c.pending.bytes) == 0 {
		return false
	}
	c.pending, c.writing, c.served = c.writing, c.pending, 0
	c.mu.Unlock()
	n, err := c.writing.writeTo(c.nc)
	c.counters.WireBytesWritten.Add(n)
	c.counters.Sends.Add(int64(c.writing.calls))
	c.counters.BytesWritten.Add(int64(c.writing.data))
	c.mu.Lock()
	for _, k := range c.writing.cuts {
		k.call.writing = false
		if k.call.replied {
			k.call.replied = false
			k.call.finish()
		}
	}
	c.writing.reset()
	if err != nil {
		c.failLocked(err)
		return false
	}
	return len(c.pending.bytes) > 0 && c.err == nil
}
