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

// PutRecordMark writes that mark over the first four bytes of b.
func PutRecordMark(b []byte, n int) { binary.BigEndian.PutUint32(b, lastFragment|uint32(n)) }

// RecordReader reads records of one or many fragments from a stream. It must not
// be used by two goroutines at once.
type RecordReader struct {
	src io.Reader
	buf []byte
	r   int // buf[r:w] was received and not consumed
	w   int

	maxRecord int
	record    int // bytes of this record announced so far
	left      int // bytes of this fragment not consumed
	last      bool
	bulk      bool // the last direct read was long: keep the next fill short
}

const (
	recordBufBytes = 64 << 10
	// Bulk data that come with a header in one fill are copied. Filling only this
	// much when bulk data are expected, a head at least, keeps that copy small.
	shortFillBytes = 1 << 10
	// directBytes is the least that is worth a read of its own.
	directBytes = 32 << 10
	// growBytes bounds how much is allocated on the word of a length field.
	growBytes = 64 << 10
)

// NewRecordReader returns a reader of src that refuses records of more than
// maxRecord bytes.
func NewRecordReader(src io.Reader, maxRecord int) *RecordReader {
	return &RecordReader{src: src, buf: make([]byte, recordBufBytes), maxRecord: maxRecord}
}

// Next begins the next record; what was left of the last one is skipped. It
// returns io.EOF when the stream ends between records.
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
	// Empty fragments are legal but without end they would be a way to keep us
	// busy, so each counts as one byte.
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

// ReadFull reads len(p) bytes of the record, over the borders of fragments. It
// returns ErrRecordShort when the record has only n.
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

// Received returns how many bytes of the current record were announced so far,
// without marks.
func (r *RecordReader) Received() int { return r.record }

// FragmentBytes returns how many bytes of the current fragment were not read yet. A server
// asks it after Next to choose the buffer for the record.
func (r *RecordReader) FragmentBytes() int { return r.left }

// Done reports whether all bytes of the record were consumed. It does not look
// beyond the current fragment.
func (r *RecordReader) Done() bool { return r.left == 0 && r.last }

// AppendRest appends what is left of the record to b and returns it. Memory
// grows with what really arrives, not with what a mark announces.
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

// grow makes b longer by n bytes of any content.
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
