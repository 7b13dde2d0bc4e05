package rpc

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// RecordMarkBytes is the size of the mark in front of each fragment.
const RecordMarkBytes = 4

// lastFragment is the bit of a mark that ends a record (RFC 5531 section 11).
const lastFragment = 1 << 31

// AppendRecordMark appends the mark of a record that is one fragment of n bytes.
// n must be below 2 GiB.
func AppendRecordMark(b []byte, n int) []byte {
	return xdr.AppendUint32(b, lastFragment|uint32(n))
}

// PutRecordMark writes the mark of AppendRecordMark over the first four bytes of b.
func PutRecordMark(b []byte, n int) { binary.BigEndian.PutUint32(b, lastFragment|uint32(n)) }

// RecordReader reads records of one or more fragments from a stream. It is not
// safe for concurrent use.
type RecordReader struct {
	src io.Reader
	buf []byte
	r   int // buf[r:w] is received but not consumed
	w   int

	maxRecord int
	record    int // announced bytes of this record so far
	left      int // unconsumed bytes of this fragment
	last      bool
	bulk      bool // the last direct read was long: keep the next fill short
}

const (
	recordBufBytes = 64 << 10
	// shortFillBytes bounds a fill when bulk data are expected: bulk data that
	// arrive in the same fill as a header are copied, so a short fill, which has
	// room for a header, keeps the copy small.
	shortFillBytes = 1 << 10
	// directBytes is the minimum size of a direct read.
	directBytes = 32 << 10
	// growBytes bounds the memory that a length field alone can allocate.
	growBytes = 64 << 10
)

// NewRecordReader returns a reader of src that refuses records of more than
// maxRecord bytes.
func NewRecordReader(src io.Reader, maxRecord int) *RecordReader {
	return &RecordReader{src: src, buf: make([]byte, recordBufBytes), maxRecord: maxRecord}
}

// Next begins the next record, and skips the rest of the last one. It returns
// io.EOF when the stream ends between records.
func (r *RecordReader) Next() error {
	for r.record > 0 {
		if err := r.skip(r.left); err != nil {
			return err
		}
		if r.last {
			break
		}
		if err := r.fragment(); err != nil {
			return err
		}
	}
	r.record, r.last = 0, false
	if r.r == r.w {
		if err := r.fill(); err != nil {
			return err
		}
	}
	return r.fragment()
}

// fragment reads the mark of the next fragment.
func (r *RecordReader) fragment() error {
	var mark [RecordMarkBytes]byte
	for i := range mark {
		if r.r == r.w {
			if err := r.fill(); err != nil {
				return unexpected(err)
			}
		}
		mark[i] = r.buf[r.r]
		r.r++
	}
	v := binary.BigEndian.Uint32(mark[:])
	n := int(v &^ lastFragment)
	if n > r.maxRecord-r.record {
		return ErrRecordTooLarge
	}
	// Empty fragments are legal, but an endless series of them would keep the
	// reader busy, so each counts as one byte.
	r.record += max(n, 1)
	r.left, r.last = n, v&lastFragment != 0
	return nil
}

// fill receives more bytes into an empty buffer.
func (r *RecordReader) fill() error {
	r.r, r.w = 0, 0
	limit := len(r.buf)
	if r.bulk {
		limit = shortFillBytes
	}
	n, err := r.src.Read(r.buf[:limit])
	r.w = n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// ReadFull reads len(p) bytes of the record across fragments. It returns
// ErrRecordShort if the record has only n bytes.
func (r *RecordReader) ReadFull(p []byte) (n int, err error) {
	for n < len(p) {
		if r.left == 0 {
			if r.last {
				return n, ErrRecordShort
			}
			if err := r.fragment(); err != nil {
				return n, err
			}
			continue
		}
		k, err := r.read(p[n:min(len(p), n+r.left)])
		n += k
		r.left -= k
		if err != nil {
			return n, unexpected(err)
		}
	}
	return n, nil
}

// read returns at least one byte or an error; p is within the fragment.
func (r *RecordReader) read(p []byte) (int, error) {
	if r.r < r.w {
		n := copy(p, r.buf[r.r:r.w])
		r.r += n
		return n, nil
	}
	if len(p) >= directBytes {
		r.bulk = true
		return io.ReadFull(r.src, p)
	}
	r.bulk = r.bulk && len(p) < shortFillBytes
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.buf[r.r:r.w])
	r.r += n
	return n, nil
}

// skip consumes n bytes of the current fragment.
func (r *RecordReader) skip(n int) error {
	for n > 0 {
		if r.r == r.w {
			if err := r.fill(); err != nil {
				return unexpected(err)
			}
		}
		k := min(n, r.w-r.r)
		r.r += k
		n -= k
		r.left -= k
	}
	return nil
}

// Received returns the announced bytes of the current record so far, without
// marks.
func (r *RecordReader) Received() int { return r.record }

// FragmentBytes returns the unread bytes of the current fragment. A server uses it after Next to choose the buffer
// for the record.
func (r *RecordReader) FragmentBytes() int { return r.left }

// Done reports whether all bytes of the record were consumed. It does not look
// beyond the current fragment.
func (r *RecordReader) Done() bool { return r.left == 0 && r.last }

// AppendRest appends the rest of the record to b and returns the result. Memory
// grows with the received bytes, not with announced ones.
func (r *RecordReader) AppendRest(b []byte) ([]byte, error) {
	for {
		for r.left > 0 {
			n := min(r.left, growBytes)
			at := len(b)
			b = grow(b, n)
			if _, err := r.ReadFull(b[at:]); err != nil {
				return b[:at], err
			}
		}
		if r.last {
			return b, nil
		}
		if err := r.fragment(); err != nil {
			return b, err
		}
	}
}

// grow extends b by n bytes of undefined content.
func grow(b []byte, n int) []byte {
	if need := len(b) + n; need <= cap(b) {
		return b[:need]
	}
	return append(b, make([]byte, n)...)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
