package server

import (
	"io"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// span is file data that follow a reply's head without passing through this program.
type span struct {
	file   filetree.File
	offset int64
	bytes  int
}

// sending is the reply that is on its way out. Its two functions are made once, because a
// closure per reply would be garbage per reply.
type sending struct {
	head []byte
	span span
	err  error

	sendHead, sendSpan func(fd uintptr) bool
}

func (o *sending) init() {
	o.sendHead = o.stepHead
	o.sendSpan = o.stepSpan
}

// stepHead sends the head and tells TCP that more follows, so that the first segment is a
// full one. Like all steps it returns false when the socket is full.
func (o *sending) stepHead(fd uintptr) bool {
	for len(o.head) > 0 {
		n, err := unix.SendmsgN(int(fd), o.head, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
		if err == unix.EINTR { //nolint:errorlint // a bare Errno from the system call
			continue
		}
		if err == unix.EAGAIN { //nolint:errorlint // as above
			return false
		}
		if err != nil {
			o.err = err
			return true
		}
		o.head = o.head[n:]
	}
	return true
}

func (o *sending) stepSpan(fd uintptr) bool {
	for o.span.bytes > 0 {
		n, err := unix.Sendfile(int(fd), o.span.file.FD(), &o.span.offset, o.span.bytes)
		if err == unix.EINTR { //nolint:errorlint // a bare Errno from the system call
			continue
		}
		if err == unix.EAGAIN { //nolint:errorlint // as above
			return false
		}
		if err != nil {
			o.err = err
			return true
		}
		if n == 0 { // truncated since the head was made: the promised length is kept
			return true
		}
		o.span.bytes -= n
	}
	return true
}

// send writes one whole reply: head, then the span with its padding.
func (c *conn) send(head []byte, s span) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if err := c.tcp.SetWriteDeadline(c.srv.opt.Now().Add(c.srv.opt.StallTimeout)); err != nil {
		return err
	}
	if s.bytes == 0 {
		_, err := c.tcp.Write(head)
		return err
	}
	padding := xdr.Padding(s.bytes)
	c.out.head, c.out.span, c.out.err = head, s, nil
	if err := c.step(c.out.sendHead); err != nil {
		return err
	}
	if err := c.step(c.out.sendSpan); err != nil {
		return err
	}
	return c.zeros(c.out.span.bytes + padding)
}

func (c *conn) step(f func(fd uintptr) bool) error {
	if err := c.raw.Write(f); err != nil {
		return err
	}
	return c.out.err
}

// zeros sends padding, and what a file that became shorter can no longer give.
func (c *conn) zeros(n int) error {
	if n == 0 {
		return nil
	}
	_, err := io.CopyN(c.tcp, zeroReader{}, int64(n))
	return err
}

type zeroReader struct{}

// Read fills p with zeros.
func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
