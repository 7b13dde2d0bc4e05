package xdr

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestWhatWasAppendedIsDecoded(t *testing.T) {
	var b []byte
	b = AppendUint32(b, math.MaxUint32)
	b = AppendUint64(b, math.MaxUint64-1)
	b = AppendBool(b, true)
	b = AppendOpaque(b, []byte{1, 2, 3, 4, 5})
	b = AppendString(b, "abc")
	b = AppendFixed(b, []byte{9, 8})
	if len(b)%4 != 0 {
		t.Errorf("%d bytes are no multiple of four", len(b))
	}
	d := NewDecoder(b)
	if v := d.Uint32(); v != math.MaxUint32 {
		t.Errorf("Uint32 = %d", v)
	}
	if v := d.Uint64(); v != math.MaxUint64-1 {
		t.Errorf("Uint64 = %d", v)
	}
	if !d.Bool() {
		t.Error("Bool = false")
	}
	if v := d.Opaque(5); !bytes.Equal(v, []byte{1, 2, 3, 4, 5}) {
		t.Errorf("Opaque = %v", v)
	}
	if v := d.String(3); v != "abc" {
		t.Errorf("String = %q", v)
	}
	if v := d.Fixed(2); !bytes.Equal(v, []byte{9, 8}) {
		t.Errorf("Fixed = %v", v)
	}
	if d.Err() != nil || d.Len() != 0 {
		t.Errorf("err = %v, %d bytes left", d.Err(), d.Len())
	}
}

func TestTheDecoderRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		in     []byte
		read   func(*Decoder)
		want   error
	}{
		"a short number":       {"", []byte{0, 0, 0}, func(d *Decoder) { d.Uint32() }, ErrShort},
		"a bool of 2":          {"only 0 and 1 exist", []byte{0, 0, 0, 2}, func(d *Decoder) { d.Bool() }, ErrBadBool},
		"opaque over limit":    {"", []byte{0, 0, 0, 9, 1, 2}, func(d *Decoder) { d.Opaque(8) }, ErrTooLong},
		"opaque of 4 GiB":      {"must not wrap", []byte{255, 255, 255, 255}, func(d *Decoder) { d.Opaque(math.MaxInt) }, ErrShort},
		"missing padding":      {"RFC 4506 4.10", []byte{0, 0, 0, 1, 7}, func(d *Decoder) { d.Opaque(8) }, ErrShort},
		"a negative length":    {"", []byte{1, 2, 3, 4}, func(d *Decoder) { d.Fixed(-4) }, ErrShort},
		"the first error wins": {"", nil, func(d *Decoder) { d.Uint32(); d.Fail(ErrBadValue) }, ErrShort},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDecoder(tc.in)
			tc.read(&d)
			if !errors.Is(d.Err(), tc.want) {
				t.Errorf("err = %v, want %v (%s)", d.Err(), tc.want, tc.reason)
			}
			if v := d.Uint32(); v != 0 || d.Len() != 0 {
				t.Errorf("after an error Uint32 = %d and Len = %d, want 0", v, d.Len())
			}
		})
	}
}

func FuzzDecoderStaysInBounds(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3, 0}, []byte{3, 3, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 0}, []byte{3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, in, script []byte) {
		memory.Bound(t, 2*len(in)*(1+len(script)), func() { walk(t, in, script) })
	})
}

func walk(t *testing.T, in, script []byte) {
	t.Helper()
	d := NewDecoder(in)
	for _, op := range script {
		switch op % 7 {
		case 0:
			d.Uint32()
		case 1:
			d.Uint64()
		case 2:
			d.Bool()
		case 3:
			d.Opaque(int(op))
		case 4:
			_ = d.String(1 << 30)
		case 5:
			d.Fixed(int(op) - 20)
		case 6:
			d.Skip(int(op) - 20)
		}
		if d.Offset() < 0 || d.Offset() > len(in) || d.Len() < 0 {
			t.Fatalf("offset %d of %d bytes", d.Offset(), len(in))
		}
	}
}
