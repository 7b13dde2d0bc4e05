package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// pumpBytes is the buffer of a pump: several small records per system call, and
// not many system calls for a large one.
const pumpBytes = 256 << 10

// sink takes what a pump has read.
type sink interface {
	// record is told the head of each record, without its mark, and says where
	// the record goes. flush writes what the pump still holds of former
	// records; record calls it before it waits for anything.
	record(head []byte, flush func() error) (io.Writer, error)
	// wrote follows each write of n bytes; ended says that it ended with a record.
	wrote(n int, ended bool)
}

// pump copies records from one connection to others. It looks at the head of
// each record only; as many records as were received go on in one write.
type pump struct {
	src  net.Conn
	sink sink
	dst  io.Writer

	buf  []byte
	from int // buf[from:at] goes to dst and was not written
	at   int // buf[at:to] was received and not looked at
	to   int

	left     int  // bytes of the fragment beyond at
	last     bool // the fragment ends its record
	inRecord bool
}

func newPump(src net.Conn, s sink) *pump {
	return &pump{src: src, sink: s, buf: make([]byte, pumpBytes)}
}

// run copies until the source ends, which is no error between records, or
// something fails.
func (p *pump) run() error {
	for {
		n, err := p.src.Read(p.buf[p.to:])
		p.to += n
		if e := p.look(); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) && p.to == 0 && !p.inRecord {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// look goes through what was received and sends it on.
func (p *pump) look() error {
	for p.at < p.to {
		if p.left > 0 {
			n := min(p.left, p.to-p.at)
			p.at += n
			p.left -= n
			p.inRecord = p.left > 0 || !p.last
			continue
		}
		complete, err := p.fragment()
		if err != nil {
			return err
		}
		if !complete {
			break
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.to = copy(p.buf, p.buf[p.at:p.to])
	p.from, p.at = 0, 0
	return nil
}

// fragment begins the fragment at p.at, unless more of its head is needed.
func (p *pump) fragment() (complete bool, err error) {
	rest := p.buf[p.at:p.to]
	if len(rest) < 4 {
		return false, nil
	}
	mark := binary.BigEndian.Uint32(rest)
	size := int(mark &^ lastFragment)
	if !p.inRecord {
		head := min(size, headBytes)
		if len(rest) < 4+head {
			return false, nil
		}
		if err := p.begin(rest[4 : 4+head]); err != nil {
			return false, err
		}
	}
	p.at += 4
	p.left, p.last = size, mark&lastFragment != 0
	p.inRecord = p.left > 0 || !p.last
	return true, nil
}

// begin asks where a record goes.
func (p *pump) begin(head []byte) error {
	dst, err := p.sink.record(head, p.flush)
	if err != nil || dst == p.dst {
		return err
	}
	err = p.flush()
	p.dst = dst
	return err
}

// flush writes what was looked at.
func (p *pump) flush() error {
	if p.from == p.at {
		return nil
	}
	n, err := p.dst.Write(p.buf[p.from:p.at])
	p.from = p.at
	p.sink.wrote(n, !p.inRecord)
	return err
}
