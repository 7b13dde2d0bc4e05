package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nanosleep"
)

// startedThread returns a thread with a connection on which nothing comes.
func startedThread(t *testing.T) *thread {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := streamOfGroups(t, &striping{unit: 8, width: 1}, &routedIO{io: IO{Buf: make([]byte, 8)}}, 8, 64, 0)
	s.cfg.Now = time.Now
	thread := s.threads[0]
	if thread.sock, err = newSocket(nc, time.Second); err != nil {
		t.Fatal(err)
	}
	return thread
}

func TestAThreadWithNothingUnderWayWakesUpWhenASlotIsDue(t *testing.T) {
	thread := startedThread(t)
	for _, wait := range []time.Duration{300 * time.Microsecond, 3 * nanosleep.Margin} {
		thread.look()
		thread.nextDue = thread.now + int64(wait)
		for thread.now < thread.nextDue { // a signal may end a wait early
			thread.idle(time.Hour) // which a slot that is due does not wait for
			thread.look()
		}
	}
}

func TestABellEndsAWait(t *testing.T) {
	thread := startedThread(t)
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	thread.event = event
	thread.listening.Store(true)
	thread.give(&thread.s.slots[0])
	thread.sock.await(false, event, time.Hour)
	if len(thread.inbox) != 1 {
		t.Errorf("%d slots are there, want the one that interrupted the wait", len(thread.inbox))
	}
}

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
