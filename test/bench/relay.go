package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// relayCommand is what bench is called with to be the relay: a server of known limit.
const relayCommand = "relay"

// relay forwards TCP connections to an NFS server and lets so many replies a second through,
// over all connections together. Calls pass as they come.
type relay struct {
	server string
	mu     sync.Mutex
	tokens bucket
}

// runRelay serves until ctx ends.
func runRelay(ctx context.Context, args []string) error {
	var listen string
	var rate int
	r := &relay{}
	fs := flag.NewFlagSet(relayCommand, flag.ContinueOnError)
	fs.StringVar(&listen, "listen", "", "address and port")
	fs.StringVar(&r.server, "server", "", "address and port of the NFS server")
	fs.IntVar(&rate, "rate", 0, "replies a second")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if rate < 1 {
		return errors.New("--rate is at least 1")
	}
	r.tokens = bucket{interval: time.Second / time.Duration(rate)}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go r.carry(client)
	}
}

// carry joins a client to the server until one of them closes.
func (r *relay) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.DialTimeout("tcp", r.server, 5*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client) // either end closes both
		_ = server.Close()
		_ = client.Close()
	}()
	_ = r.replies(server, client)
}

// mostFragment bounds what the relay keeps of a reply.
const mostFragment = 4 << 20

// replies forwards the replies of the server, each in its turn. A reply is one record of RPC
// over TCP: fragments, each after a head with its length and whether it is the last.
func (r *relay) replies(server io.Reader, client io.Writer) error {
	buf := make([]byte, 4+mostFragment)
	first := true // fragment of a reply
	for {
		if _, err := io.ReadFull(server, buf[:4]); err != nil {
			return err
		}
		const last = 1 << 31
		head := binary.BigEndian.Uint32(buf)
		size := int(head &^ last)
		if size > mostFragment {
			return fmt.Errorf("a fragment of %d bytes", size)
		}
		if _, err := io.ReadFull(server, buf[4:4+size]); err != nil {
			return err
		}
		if first {
			r.wait()
		}
		if _, err := client.Write(buf[:4+size]); err != nil {
			return err
		}
		first = head&last != 0
	}
}

// wait returns when a token is there. Connections that wait get theirs one after the other.
func (r *relay) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.tokens.take(time.Now())
	if wait <= 0 {
		return
	}
	// The timers of Go are as coarse as 1 ms where nothing else runs.
	left := unix.NsecToTimespec(wait.Nanoseconds())
	_ = unix.Nanosleep(&left, nil) // one that is interrupted is short by little, and the next is longer
}

// burst is how many tokens a bucket holds. They make up for the time in which the relay waits
// for a processor, so that its rate is the same on a busy machine.
const burst = 64

// bucket is a token bucket, full at its start.
type bucket struct {
	interval time.Duration // in which it gets one token
	full     time.Time     // when it will be full
}

// take takes one token and returns how long it is until that is there.
func (b *bucket) take(now time.Time) time.Duration {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
	return b.full.Sub(now) - burst*b.interval
}
