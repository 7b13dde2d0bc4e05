package xdr

// Coded is a structure that passes its items to a Coder in the order of the wire, once for both directions. Decoded
// byte slices alias the input.
type Coded interface{ Code(c *Coder) }

// Append appends v to b.
func Append(b []byte, v Coded) []byte {
	c := NewEncoder(b)
	v.Code(&c)
	return c.b
}

// Decode decodes v from d. d.Err returns the error.
func Decode(d *Decoder, v Coded) {
	c := d.Coder()
	v.Code(&c)
	*d = c.d
}

// Coder encodes or decodes successive items. Its methods take pointers: they read the values while encoding, and set
// them while decoding. Calling the Code method of a known type allocates nothing; Append and Decode do.
type Coder struct {
	decoding bool
	d        Decoder
	b        []byte
}

// NewEncoder returns a Coder that appends to b.
func NewEncoder(b []byte) Coder { return Coder{b: b} }

// Coder returns a Coder that continues at the position of d; its method Decoder returns to a Decoder.
func (d *Decoder) Coder() Coder { return Coder{decoding: true, d: *d} }

// Decoder returns a Decoder that continues at the position of c.
func (c *Coder) Decoder() Decoder { return c.d }

// Bytes returns the slice given to NewEncoder with the encoded items appended.
func (c *Coder) Bytes() []byte { return c.b }

// Encoding reports whether c encodes.
func (c *Coder) Encoding() bool { return !c.decoding }

// Failed reports whether decoding has failed. Further items are then zero.
func (c *Coder) Failed() bool { return c.d.err != nil }

// Refuse makes decoding fail with err. It does nothing while encoding our own structures.
func (c *Coder) Refuse(err error) {
	if c.decoding {
		c.d.Fail(err)
	}
}

// Uint32 codes unsigned integers of 32 bits.
func (c *Coder) Uint32(all ...*uint32) {
	for _, v := range all {
		if c.decoding {
			*v = c.d.Uint32()
		} else {
			c.b = AppendUint32(c.b, *v)
		}
	}
}

// Uint64 codes unsigned integers of 64 bits.
func (c *Coder) Uint64(all ...*uint64) {
	for _, v := range all {
		if c.decoding {
			*v = c.d.Uint64()
		} else {
			c.b = AppendUint64(c.b, *v)
		}
	}
}

// Bool codes booleans.
func (c *Coder) Bool(all ...*bool) {
	for _, v := range all {
		if c.decoding {
			*v = c.d.Bool()
		} else {
			c.b = AppendBool(c.b, *v)
		}
	}
}

// List codes a list whose items each have a boolean in front of them. Decoding ends before the first item that fails.
// Each item uses input, which bounds the list.
func List[T any](c *Coder, list *[]T, code func(*T)) {
	if c.decoding {
		*list = nil
	}
	for i := 0; ; i++ {
		more := i < len(*list)
		if c.Bool(&more); !more {
			return
		}
		if c.decoding {
			*list = append(*list, *new(T))
		}
		if code(&(*list)[i]); c.Failed() {
			*list = (*list)[:i]
			return
		}
	}
}

// Bounded codes a list behind its length. Before it allocates, decoding refuses more than limit items, and more items
// of at least itemBytes than the input can hold. An empty list decodes to nil.
func Bounded[T any](c *Coder, items *[]T, limit, itemBytes int, code func(*T)) {
	n := uint32(len(*items))
	c.Uint32(&n)
	if c.decoding {
		*items = nil
		switch {
		case c.Failed() || n == 0:
			return
		case uint64(n) > uint64(limit):
			c.Refuse(ErrTooLong)
			return
		case uint64(n)*uint64(itemBytes) > uint64(c.d.Len()):
			c.Refuse(ErrShort)
			return
		}
		*items = make([]T, n)
	}
	for i := range *items {
		if code(&(*items)[i]); c.Failed() {
			return
		}
	}
}

// Opaque codes variable-length opaque data. Decoding refuses more than limit bytes.
func (c *Coder) Opaque(p *[]byte, limit int) {
	if c.decoding {
		*p = c.d.Opaque(limit)
	} else {
		c.b = AppendOpaque(c.b, *p)
	}
}

// String codes a string. Decoding refuses more than limit bytes.
func (c *Coder) String(s *string, limit int) {
	if c.decoding {
		*s = c.d.String(limit)
	} else {
		c.b = AppendString(c.b, *s)
	}
}

// Fixed codes len(p) bytes and their padding.
func (c *Coder) Fixed(p []byte) {
	if c.decoding {
		copy(p, c.d.Fixed(len(p)))
	} else {
		c.b = AppendFixed(c.b, p)
	}
}
