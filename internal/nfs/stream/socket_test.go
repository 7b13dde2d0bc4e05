package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// What a lost connection holds must not reach the server later: it has been sent again over
// another one, and newer writes of the same blocks may have followed.
func TestAResetTakesBackWhatTheOtherSideHasNotReceived(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	s, err := newSocket(here, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	data, sent := bytes.Repeat([]byte{1}, 1<<20), 0
	for range 1000 { // until no buffer takes more: nobody reads
		n, err := s.send(s.put(0, data))
		if errors.Is(err, errAgain) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sent += n
	}
	s.reset()
	got, err := io.Copy(io.Discard, there)
	if !errors.Is(err, syscall.ECONNRESET) || got >= int64(sent) {
		t.Errorf("of %d bytes sent, %d arrived after the reset, and reading ended with %v", sent, got, err)
	}
}
