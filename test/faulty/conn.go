package faulty

import (
	"net"
	"sync"
)

// listener is an address of the server for as long as that lives. Between Kill and Listen
// nobody listens on it.
type listener struct {
	net.Listener // the first, for its address

	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// conn is one connection of a client.
type conn struct {
	*net.TCPConn

	s       *Server
	address string
	number  int
	dead    bool // nothing of it is executed any more; guarded by Server.mu
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.s.gate.RLock()
	c.s.gate.RUnlock() //nolint:staticcheck // it only waits while somebody stalls the server
	return c.TCPConn.Read(p)
}

func (c *conn) kill() {
	c.dead = true
	_ = c.Close()
}

// accept gives the server the connections that come to an address.
func (s *Server) accept(inner net.Listener, l *listener, address string) {
	for {
		nc, err := inner.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		c := &conn{TCPConn: nc.(*net.TCPConn), s: s, address: address, number: s.accepted}
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		select {
		case l.accepted <- c:
		case <-s.done:
			return
		}
	}
}
