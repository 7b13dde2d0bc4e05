package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// rpcCall is what a relay knows about an NFSv3 call.
type rpcCall struct {
	at        time.Time
	path      int
	procedure uint32
	file      string // file handle of a READ or WRITE
	offset    uint64
	count     uint32
}

const (
	procRead  = 6
	procWrite = 7
)

func (c rpcCall) data() bool { return c.procedure == procRead || c.procedure == procWrite }

// relay is a proxy for an NFS server that changes calls as a test needs. All functions are called concurrently.
type relay struct {
	// answer returns the minimum time from the arrival of a call to its reply.
	answer func(c rpcCall) time.Duration
	// remember reports whether to keep the reply, and to answer later calls for the same place with
	// it, without the server.
	remember func(c rpcCall) bool
	// twice reports whether the server gets the call twice. The client gets one reply.
	twice func(c rpcCall) bool

	mu        sync.Mutex
	memory    map[memoryKey][]byte
	listeners []net.Listener
	conns     []net.Conn
	serving   sync.WaitGroup
}

type memoryKey struct {
	file   string
	offset uint64
	count  uint32
}

// open listens on these addresses in a network namespace.
func (r *relay) open(netns string, addresses []string) error {
	r.memory = map[memoryKey][]byte{}
	for i, a := range addresses {
		l, err := listenIn(netns, fmt.Sprintf("%s:%d", a, portRelay))
		if err != nil {
			return errors.Join(err, r.close())
		}
		r.listeners = append(r.listeners, l)
		r.serving.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				up, err := dialIn(netns, fmt.Sprintf("%s:%d", a, portNFS))
				if err != nil {
					_ = c.Close()
					continue
				}
				r.mu.Lock()
				r.conns = append(r.conns, c, up)
				r.mu.Unlock()
				r.serving.Go(func() { r.serve(i, c, up) })
			}
		})
	}
	return nil
}

func (r *relay) close() error {
	var errs []error
	for _, l := range r.listeners {
		errs = append(errs, l.Close())
	}
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close() // most are closed already
	}
	r.mu.Unlock()
	r.serving.Wait()
	return errors.Join(errs...)
}

// relaySession is one connection through the relay.
type relaySession struct {
	r        *relay
	path     int
	down, up net.Conn

	mu      sync.Mutex // guards writes to down, and waiting
	waiting map[uint32]rpcCall
}

func (r *relay) serve(path int, down, up net.Conn) {
	s := &relaySession{r: r, path: path, down: down, up: up, waiting: map[uint32]rpcCall{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.replies()
		_ = down.Close()
	}()
	s.calls()
	_ = up.Close()
	<-done
}

// secondCopy marks the transaction of a call that is sent twice.
const secondCopy = 1 << 31

func (s *relaySession) calls() {
	in := bufio.NewReaderSize(s.down, 1<<16)
	for {
		record, err := readRecord(in)
		if err != nil {
			return
		}
		c, xid := parseCall(record[4:])
		c.at, c.path = time.Now(), s.path
		if kept := s.r.recall(c); kept != nil {
			binary.BigEndian.PutUint32(kept[4:], xid)
			s.reply(c, kept)
			continue
		}
		s.mu.Lock()
		s.waiting[xid] = c
		s.mu.Unlock()
		copies := [][]byte{record}
		if s.r.twice != nil && c.data() && s.r.twice(c) {
			second := slices.Clone(record)
			binary.BigEndian.PutUint32(second[4:], xid^secondCopy)
			copies = append(copies, second)
		}
		if _, err := s.up.Write(slices.Concat(copies...)); err != nil {
			return
		}
	}
}

// recall returns a copy of a kept reply; nil = none.
func (r *relay) recall(c rpcCall) []byte {
	if r.remember == nil || c.procedure != procRead || !r.remember(c) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.memory[memoryKey{c.file, c.offset, c.count}])
}

func (s *relaySession) replies() {
	in := bufio.NewReaderSize(s.up, 1<<16)
	for {
		record, err := readRecord(in)
		if err != nil {
			return
		}
		xid := binary.BigEndian.Uint32(record[4:])
		s.mu.Lock()
		c, ok := s.waiting[xid]
		delete(s.waiting, xid)
		s.mu.Unlock()
		if !ok {
			continue // second reply of a call that was sent twice
		}
		if s.r.remember != nil && c.procedure == procRead && s.r.remember(c) {
			s.r.mu.Lock()
			s.r.memory[memoryKey{c.file, c.offset, c.count}] = record
			s.r.mu.Unlock()
		}
		s.reply(c, record)
	}
}

// reply answers a call when it is due.
func (s *relaySession) reply(c rpcCall, record []byte) {
	write := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = s.down.Write(record) // a client that is gone has ended the session
	}
	if s.r.answer != nil {
		if left := s.r.answer(c) - time.Since(c.at); left > 0 {
			time.AfterFunc(left, write)
			return
		}
	}
	write()
}

// maxRecord is larger than every READ and WRITE of 1 MiB.
const maxRecord = 2 << 20

// readRecord reads one record with its mark and joins its fragments.
func readRecord(in io.Reader) ([]byte, error) {
	record := []byte{0, 0, 0, 0}
	for {
		var mark [4]byte
		if _, err := io.ReadFull(in, mark[:]); err != nil {
			return nil, err
		}
		m := binary.BigEndian.Uint32(mark[:])
		n, at := int(m&0x7fffffff), len(record)
		if at+n > maxRecord {
			return nil, fmt.Errorf("a record of more than %d bytes", maxRecord)
		}
		record = append(record, make([]byte, n)...)
		if _, err := io.ReadFull(in, record[at:]); err != nil {
			return nil, err
		}
		if m&0x80000000 != 0 {
			break
		}
	}
	if len(record) < 8 {
		return nil, errors.New("a record without a transaction")
	}
	binary.BigEndian.PutUint32(record, uint32(len(record)-4)|0x80000000)
	return record, nil
}

// parseCall reads what a relay needs. What it cannot read stays zero.
func parseCall(b []byte) (c rpcCall, xid uint32) {
	xid = binary.BigEndian.Uint32(b)
	const header = 24 // to the credential
	if len(b) < header || binary.BigEndian.Uint32(b[12:]) != 100003 || binary.BigEndian.Uint32(b[16:]) != 3 {
		return c, xid
	}
	procedure := binary.BigEndian.Uint32(b[20:])
	rest := b[header:]
	for range 2 { // credential and verifier
		if len(rest) < 4 {
			return c, xid
		}
		if _, rest = opaque(rest[4:]); rest == nil {
			return c, xid
		}
	}
	c.procedure = procedure
	if !c.data() {
		return c, xid
	}
	file, rest := opaque(rest)
	if len(rest) < 12 {
		return rpcCall{}, xid
	}
	c.file, c.offset, c.count = string(file), binary.BigEndian.Uint64(rest), binary.BigEndian.Uint32(rest[8:])
	return c, xid
}

// opaque reads bytes that follow their length; rest is nil if there are none.
func opaque(b []byte) (value, rest []byte) {
	if len(b) < 4 {
		return nil, nil
	}
	n := int(binary.BigEndian.Uint32(b))
	padded := (n + 3) &^ 3
	if n < 0 || n > 1<<16 || len(b) < 4+padded {
		return nil, nil
	}
	return b[4 : 4+n], b[4+padded:]
}
