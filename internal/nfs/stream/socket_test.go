package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A late start of an I/O in an open loop counts as latency. The kernel's own timing is the
// reference, because the machine may be busy.
func TestALaneWithNothingUnderWayWakesUpWhenASlotIsDue(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := streamOfGroups(t, &striping{unit: 8, width: 1}, &routedIO{io: IO{Buf: make([]byte, 8)}}, 8, 64, 0)
	s.cfg.Now = time.Now
	lane := s.lanes[0]
	if lane.sock, err = newSocket(nc, time.Second); err != nil {
		t.Fatal(err)
	}
	const wait = 300 * time.Microsecond
	var idle, sleep []time.Duration
	for range 50 {
		lane.look()
		lane.nextDue = lane.now + int64(wait)
		began := time.Now()
		lane.idle(tick)
		idle = append(idle, time.Since(began))
		began = time.Now()
		left := unix.NsecToTimespec(wait.Nanoseconds())
		_ = unix.Nanosleep(&left, nil)
		sleep = append(sleep, time.Since(began))
	}
	slices.Sort(idle)
	slices.Sort(sleep)
	if got, want := idle[len(idle)/2], sleep[len(sleep)/2]; got > 2*want || got < wait/2 {
		t.Errorf("a wait of %v takes %v, and %v by the kernel alone", wait, got, want)
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
