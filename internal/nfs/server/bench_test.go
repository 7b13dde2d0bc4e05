package server_test

import (
	"net"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// BenchmarkRead reads a cached file over loopback, eight requests in flight, and throws
// the data away. Client and server share the processors.
func BenchmarkRead(b *testing.B) {
	b.Run("1MiB", func(b *testing.B) { benchmarkRead(b, 1<<20) })
	b.Run("8KiB", func(b *testing.B) { benchmarkRead(b, 8<<10) })
}

const benchFileBytes = 256 << 20

func benchmarkRead(b *testing.B, block int) {
	b.Helper()
	s := start(b)
	c := mounted(b, s.Addrs()[0])
	file := c.create(c.root, "data")
	chunk := make([]byte, 1<<20)
	for off := 0; off < benchFileBytes; off += len(chunk) {
		if res := c.write(file, uint64(off), chunk, v3.Unstable); res.Status != v3.OK {
			b.Fatal(res.Status)
		}
	}
	const depth = 8
	slots := make(chan struct{}, depth)
	done := make(chan error, 1)
	n := b.N
	b.SetBytes(int64(block))
	b.ResetTimer()
	go func() { done <- sendReads(c, file, block, n, slots) }()
	sink := make([]byte, block+512)
	for range n {
		if err := c.in.Next(); err != nil {
			b.Fatal(err)
		}
		if _, err := c.in.ReadFull(sink[:min(c.in.FragmentBytes(), len(sink))]); err != nil {
			b.Fatal(err)
		}
		<-slots
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func sendReads(c *client, file []byte, block, n int, slots chan struct{}) error {
	var out []byte
	for i := range n {
		slots <- struct{}{}
		a := v3.ReadArgs{Handle: file, Offset: uint64(i*block) % benchFileBytes, Count: uint32(block)}
		h := c.header(v3.Program, v3.Version, v3.ProcRead)
		out = a.Append(xdr.Append(append(out[:0], 0, 0, 0, 0), &h))
		rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
		if _, err := c.conn.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkLoopback is what the machine can do at best: plain copying through a socket.
func BenchmarkLoopback(b *testing.B) {
	const block = 1 << 20
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	n := b.N
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		data := make([]byte, block)
		for range n {
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}()
	c := dial(b, l.Addr().String())
	b.SetBytes(block)
	b.ResetTimer()
	data := make([]byte, block)
	for got := 0; got < n*block; {
		k, err := c.conn.Read(data)
		if err != nil {
			b.Fatal(err)
		}
		got += k
	}
}
