package faults

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a path to a server: it forwards bytes between an address of its own
// and the server's, until it is told to misbehave.
type proxy struct {
	t      *testing.T
	listen string
	server string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	gate     sync.RWMutex // held while nothing is forwarded
	trickle  atomic.Bool  // forward to the client byte by byte
}

// through makes a path to the server for each address, all on the server's port.
func through(t *testing.T, server string, port int, addresses ...string) []*proxy {
	t.Helper()
	var all []*proxy
	for _, a := range addresses {
		p := &proxy{
			t: t, listen: net.JoinHostPort(a, strconv.Itoa(port)), server: net.JoinHostPort(server, strconv.Itoa(port)),
			conns: map[net.Conn]struct{}{},
		}
		p.heal()
		t.Cleanup(p.reset)
		all = append(all, p)
	}
	return all
}

// heal accepts connections, again.
func (p *proxy) heal() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.open(client)
		}
	}()
}

func (p *proxy) open(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.server, time.Minute)
	if err != nil {
		reset(client)
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	go p.forward(client, server, false)
	go p.forward(server, client, p.trickle.Load())
}

func (p *proxy) forward(from, to net.Conn, slowly bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.gate.RLock()
		if n > 0 {
			err = errors.Join(err, write(to, buf[:n], slowly))
		}
		p.gate.RUnlock()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				reset(from)
			}
			_ = to.Close()
			_ = from.Close()
			p.mu.Lock()
			delete(p.conns, from)
			p.mu.Unlock()
			return
		}
	}
}

func write(to net.Conn, p []byte, slowly bool) error {
	if !slowly {
		_, err := to.Write(p)
		return err
	}
	for i := range p {
		if _, err := to.Write(p[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// reset ends all connections with a TCP reset and refuses new ones.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
	for c := range p.conns {
		reset(c)
	}
	clear(p.conns)
}

// hold stops forwarding until resume: the kernel acknowledges what fits its
// buffers, and no answer comes.
func (p *proxy) hold() (resume func()) {
	p.gate.Lock()
	return p.gate.Unlock
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
