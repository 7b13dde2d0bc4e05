package xdr

// Coded is a structure that lists its items to a Coder, in the order of the wire and once
// for both directions. Decoded byte slices alias the input.
type Coded interface{ Code(c *Coder) }

// Append appends v to b.
func Append(b []byte, v Coded) []byte {
	c := NewEncoder(b)
	v.Code(&c)
	return c.b
}

// Decode reads v from d, whose Err says whether that worked.
func Decode(d *Decoder, v Coded) { v.Code(&Coder{d: d}) }

// Coder takes items one after the other and encodes or decodes them. Its methods are given
// places: they read them while encoding, and fill them in while decoding.
type Coder struct {
	d *Decoder // nil while encoding
	b []byte
}

// NewEncoder returns a Coder that appends to b. Where the type of a structure is known, its
// Code with such a Coder allocates nothing; Append does.
func NewEncoder(b []byte) Coder { return Coder{b: b} }

// Coder returns a Coder that reads from d.
func (d *Decoder) Coder() Coder { return Coder{d: d} }

// Bytes returns what NewEncoder was given and behind it what was encoded.
func (c *Coder) Bytes() []byte { return c.b }

// Encoding reports the direction.
func (c *Coder) Encoding() bool { return c.d == nil }

// Failed reports whether decoding has failed: what follows would be zero.
func (c *Coder) Failed() bool { return c.d != nil && c.d.err != nil }

// Refuse makes decoding fail with err. Encoding goes on: it is our own structure.
func (c *Coder) Refuse(err error) {
	if c.d != nil {
		c.d.Fail(err)
	}
}

// Uint32 codes unsigned integers of 32 bits.
func (c *Coder) Uint32(all ...*uint32) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Uint32()
		} else {
			c.b = AppendUint32(c.b, *v)
		}
	}
}

// Uint64 codes unsigned integers of 64 bits.
func (c *Coder) Uint64(all ...*uint64) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Uint64()
		} else {
			c.b = AppendUint64(c.b, *v)
		}
	}
}

// Bool codes booleans.
func (c *Coder) Bool(all ...*bool) {
	for _, v := range all {
		if c.d != nil {
			*v = c.d.Bool()
		} else {
			c.b = AppendBool(c.b, *v)
		}
	}
}

// More codes the boolean in front of an item that may be absent, and returns it.
func (c *Coder) More(more bool) bool {
	c.Bool(&more)
	return more
}

// Opaque codes variable-length opaque data, of which at most limit bytes are decoded.
func (c *Coder) Opaque(p *[]byte, limit int) {
	if c.d != nil {
		*p = c.d.Opaque(limit)
	} else {
		c.b = AppendOpaque(c.b, *p)
	}
}

// String codes a string, of which at most limit bytes are decoded.
func (c *Coder) String(s *string, limit int) {
	if c.d != nil {
		*s = c.d.String(limit)
	} else {
		c.b = AppendString(c.b, *s)
	}
}

// Fixed codes len(p) bytes and their padding.
func (c *Coder) Fixed(p []byte) {
	if c.d != nil {
		copy(p, c.d.Fixed(len(p)))
	} else {
		c.b = AppendFixed(c.b, p)
	}
}
