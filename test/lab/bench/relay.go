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

// relayCommand is the argument that makes bench run as the relay: a server with a known limit.
const relayCommand = "relay"

// relay forwards TCP connections to an NFS server and limits the replies per second, over all
// connections together. Calls pass without a limit.
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

// carry connects a client to the server until one of them closes.
func (r *relay) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.DialTimeout("tcp", r.server, 5*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client) // the end of either side closes both
		_ = server.Close()
		_ = client.Close()
	}()
	_ = r.replies(server, client)
}

// mostFragment limits what the relay buffers of a reply.
const mostFragment = 4 << 20

// replies forwards the replies of the server at the limited rate. A reply is one record of RPC over
// TCP: fragments, each after a header with its length and whether it is the last.
func (r *relay) replies(server io.Reader, client io.Writer) error {
	buf := make([]byte, 4+mostFragment)
	first := true // the next fragment starts a reply
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

// wait returns when a token is available. Waiting connections get tokens one after the other.
func (r *relay) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.tokens.take(time.Now())
	if wait <= 0 {
		return
	}
	// Go timers are as coarse as 1 ms on an idle process.
	left := unix.NsecToTimespec(wait.Nanoseconds())
	_ = unix.Nanosleep(&left, nil) // an interrupted sleep is a little short, and the next one is longer
}

// burst is the number of tokens that a bucket holds. They compensate for time in which the relay
// waits for a processor, so that its rate is the same on a busy machine.
const burst = 64

// bucket is a token bucket, full at its start.
type bucket struct {
	interval time.Duration // time per token
	full     time.Time     // when it will be full
}

// take takes one token and returns the time until it is available.
func (b *bucket) take(now time.Time) time.Duration {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
	return b.full.Sub(now) - burst*b.interval
}
