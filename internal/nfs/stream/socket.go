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

// maxIovecs bounds the pieces of one system call.
const maxIovecs = 64

// socket is a TCP connection in blocking mode for one thread. The net package
// would add a poll, a lock and a switch of goroutines to each call.
type socket struct {
	fd    int
	least int // number of bytes that end a wait
	msg   unix.Msghdr
	iov   [maxIovecs]unix.Iovec
	polls [2]unix.PollFd
	limit unix.Timespec
}

// errAgain reports that the call would have to wait for longer than allowed.
var errAgain = errors.New("nothing now")

// newSocket takes over nc. A receive waits for at most tick.
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

// ownDescriptor duplicates the descriptor of nc. It does not create an os.File,
// which would register the descriptor with the runtime's poller: the poller
// would then wake for every reply.
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

// reset closes s and discards unacknowledged data. After a normal close the kernel would continue to send them: a
// WRITE would reach the server when the path works again, long after its retransmission over another path, and
// overwrite later WRITEs.
func (s *socket) reset() {
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	s.close()
}

// receive waits for bytes and puts them into a and then b, which may be empty.
// It returns errAgain after a tick without bytes, and io.EOF at the end.
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

// awaitAtLeast makes receives wait for n bytes.
func (s *socket) awaitAtLeast(n int) error {
	if n == s.least {
		return nil
	}
	s.least = n
	return os.NewSyscallError("setsockopt SO_RCVLOWAT", unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n))
}

// put sets p as piece i of the next call and returns the number of pieces.
func (s *socket) put(i int, p []byte) int {
	s.iov[i].Base = unsafe.SliceData(p)
	s.iov[i].SetLen(len(p))
	return i + 1
}

// send sends the first count pieces as far as possible without waiting.
func (s *socket) send(count int) (int, error) {
	return s.call(unix.SYS_SENDMSG, count, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

func (s *socket) call(number uintptr, count, flags int) (int, error) {
	s.msg.Iov = &s.iov[0]
	s.msg.SetIovlen(count)
	// A raw call: informing the scheduler costs more than the call, because the
	// scheduler takes the processor away and returns it on another thread. The
	// scheduler can still preempt the thread: its signal ends the wait with EINTR.
	// The memory belongs to fields of s, which the heap does not move.
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

// await waits until the socket can be read, or written if write is set, until event is written to, or until limit has
// passed. Without an eventfd, event is -1.
func (s *socket) await(write bool, event int, limit time.Duration) {
	s.polls[0] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	if write {
		s.polls[0].Events |= unix.POLLOUT
	}
	s.polls[1] = unix.PollFd{Fd: int32(event), Events: unix.POLLIN} // a negative descriptor is ignored
	s.limit = unix.NsecToTimespec(max(limit, 0).Nanoseconds())
	// Ignore the result: the next call on the socket returns any error.
	_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.polls)), uintptr(len(s.polls)),
		uintptr(unsafe.Pointer(&s.limit)), 0, 0, 0)
	if s.polls[1].Revents != 0 {
		var count [8]byte
		_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(event), uintptr(unsafe.Pointer(&count)), uintptr(len(count)))
	}
}

const (
	// silentLimit bounds the time that the peer's TCP may leave data
	// unacknowledged: two or three retransmissions on a local network.
	silentLimit = 1200 * time.Millisecond
	// silentProbe is the same bound for probes. The first one is sent a second
	// after the last sign of life.
	silentProbe = 1400 * time.Millisecond
	// answerTime is longer than an acknowledgement takes.
	answerTime = 300 * time.Millisecond
)

// PathSilent reports whether the peer's TCP is silent although it should
// answer: data are unacknowledged, or probes unanswered, for more than a
// second. A slow application, or one that reads nothing so that the window is
// closed, does not cause this. PathSilent allocates.
func PathSilent(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false // the socket's own calls report the error
	}
	return silent(info)
}

func silent(info *unix.TCPInfo) bool {
	heard := time.Duration(info.Last_ack_recv) * time.Millisecond
	sent := time.Duration(info.Last_data_sent) * time.Millisecond
	switch {
	case info.Unacked > 0:
		// Unsuccessful retransmissions count even if the peer still sends: a path may
		// be cut in one direction. The kernel does not count retransmissions into a
		// closed window, and the peer answers them.
		return info.Retransmits > 2 ||
			(info.Retransmits > 1 && heard > silentLimit && heard-sent > answerTime)
	case info.Notsent_bytes > 0:
		return heard > silentLimit && info.Probes > 1
	default:
		return heard > silentProbe && info.Probes > 0
	}
}
