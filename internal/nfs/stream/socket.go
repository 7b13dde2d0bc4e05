package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is how many pieces one system call takes.
const maxIovecs = 64

// socket is a TCP connection in blocking mode that one thread uses. The net
// package would add a poll, a lock and a switch of goroutines to each call.
type socket struct {
	fd    int
	least int // bytes that end a wait
	msg   unix.Msghdr
	iov   [maxIovecs]unix.Iovec
	polls [2]unix.PollFd
	limit unix.Timespec
}

// errAgain says that the call would have to wait longer than it may.
var errAgain = errors.New("nothing now")

// newSocket takes over nc. Receives wait for tick at most.
func newSocket(nc net.Conn, tick time.Duration) (*socket, error) {
	s := &socket{least: 1}
	var err error
	s.fd, err = ownDescriptor(nc) // a duplicate, which outlives nc
	if err = errors.Join(err, nc.Close()); err != nil {
		return nil, fmt.Errorf("take the socket: %w", err)
	}
	timeout := unix.NsecToTimeval(tick.Nanoseconds())
	err = errors.Join(
		os.NewSyscallError("fcntl", unix.SetNonblock(s.fd, false)),
		os.NewSyscallError("setsockopt SO_RCVTIMEO",
			unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)),
	)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ownDescriptor duplicates the descriptor of nc. It is not made an os.File: that
// would enter it into the runtime's poller, which then wakes for every reply.
func ownDescriptor(nc net.Conn) (int, error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return -1, fmt.Errorf("%T is no TCP connection", nc)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(original uintptr) {
		fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, dupErr)
}

func (s *socket) close() { _ = unix.Close(s.fd) }

// reset closes s and takes back what was not acknowledged. Closed in the usual way, the kernel
// goes on sending it: a WRITE would reach the server when the path is healed, long after it was
// made again over another one, and undo those that came later.
func (s *socket) reset() {
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	s.close()
}

// receive waits for bytes and puts them into a and then b, of which b may be
// empty. It returns errAgain after a tick without any, and io.EOF at the end.
func (s *socket) receive(a, b []byte, flags int) (int, error) {
	count := s.put(0, a)
	if len(b) > 0 {
		count = s.put(count, b)
	}
	n, err := s.call(unix.SYS_RECVMSG, count, flags)
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, err
}

// awaitAtLeast makes receives wait until n bytes are there.
func (s *socket) awaitAtLeast(n int) error {
	if n == s.least {
		return nil
	}
	s.least = n
	return os.NewSyscallError("setsockopt SO_RCVLOWAT", unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n))
}

// put makes p piece i of the next call and returns the number of pieces.
func (s *socket) put(i int, p []byte) int {
	s.iov[i].Base = unsafe.SliceData(p)
	s.iov[i].SetLen(len(p))
	return i + 1
}

// send sends the first count pieces as far as that goes without waiting.
func (s *socket) send(count int) (int, error) {
	return s.call(unix.SYS_SENDMSG, count, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

func (s *socket) call(number uintptr, count, flags int) (int, error) {
	s.msg.Iov = &s.iov[0]
	s.msg.SetIovlen(count)
	// Raw: telling the scheduler of each call costs more than the call, because it
	// takes the processor away and gives it back on another thread. It still gets
	// its way: the signal by which it preempts ends the wait with EINTR.
	// The memory is reached through fields of s, which the heap does not move.
	n, _, errno := unix.RawSyscall(number, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msg)), uintptr(flags))
	if errno == 0 {
		return int(n), nil
	}
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return 0, errAgain
	}
	name := "recvmsg"
	if number == unix.SYS_SENDMSG {
		name = "sendmsg"
	}
	return 0, os.NewSyscallError(name, errno)
}

// await waits until the socket can be read, or written if write is set, until bell rings,
// which is -1 where there is none, or until limit has passed.
func (s *socket) await(write bool, bell int, limit time.Duration) {
	s.polls[0] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	if write {
		s.polls[0].Events |= unix.POLLOUT
	}
	s.polls[1] = unix.PollFd{Fd: int32(bell), Events: unix.POLLIN} // a negative one is ignored
	s.limit = unix.NsecToTimespec(max(limit, 0).Nanoseconds())
	// Whatever it says, the next call on the socket says it better.
	_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.polls)), uintptr(len(s.polls)),
		uintptr(unsafe.Pointer(&s.limit)), 0, 0, 0)
	if s.polls[1].Revents != 0 {
		var count [8]byte
		_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(bell), uintptr(unsafe.Pointer(&count)), uintptr(len(count)))
	}
}

const (
	// silentLimit is how long the other side's TCP may leave data without
	// acknowledgement: two or three retransmissions on a local network.
	silentLimit = 1200 * time.Millisecond
	// silentProbe is the same for probes, the first of which leaves a second
	// after the last sign of life.
	silentProbe = 1400 * time.Millisecond
	// answerTime is more than an acknowledgement takes.
	answerTime = 300 * time.Millisecond
)

// PathSilent reports whether the other side's TCP says nothing any more although
// it should: for more than a second data are not acknowledged, or probes not
// answered. An application that is slow, or reads nothing so that the window is
// closed, does not look like this. It allocates.
func PathSilent(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false // the socket's own calls say what is wrong with it
	}
	return silent(info)
}

func silent(info *unix.TCPInfo) bool {
	heard := time.Duration(info.Last_ack_recv) * time.Millisecond
	sent := time.Duration(info.Last_data_sent) * time.Millisecond
	switch {
	case info.Unacked > 0:
		// Retransmissions that brought nothing count, even when the other side is
		// still heard: a path may be cut in one direction. Those into a closed
		// window do not count for the kernel, and are answered each time.
		return info.Retransmits > 2 ||
			(info.Retransmits > 1 && heard > silentLimit && heard-sent > answerTime)
	case info.Notsent_bytes > 0:
		return heard > silentLimit && info.Probes > 1
	default:
		return heard > silentProbe && info.Probes > 0
	}
}
