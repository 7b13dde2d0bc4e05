package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// ReaddirArgs are the arguments of READDIR and, with DirCount, of READDIRPLUS.
type ReaddirArgs struct {
	Handle         []byte
	Cookie         uint64
	CookieVerifier [8]byte
	DirCount       uint32 // bytes of names and cookies; READDIRPLUS only
	MaxCount       uint32 // bytes of the whole reply
}

// Append appends a to b as the arguments of READDIR.
func (a *ReaddirArgs) Append(b []byte) []byte {
	return xdr.AppendUint32(a.appendStart(b), a.MaxCount)
}

// AppendPlus appends a to b as the arguments of READDIRPLUS.
func (a *ReaddirArgs) AppendPlus(b []byte) []byte {
	b = xdr.AppendUint32(a.appendStart(b), a.DirCount)
	return xdr.AppendUint32(b, a.MaxCount)
}

func (a *ReaddirArgs) appendStart(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	b = xdr.AppendUint64(b, a.Cookie)
	return append(b, a.CookieVerifier[:]...)
}

// Decode reads a from d as the arguments of READDIR.
func (a *ReaddirArgs) Decode(d *xdr.Decoder) {
	a.decodeStart(d)
	a.DirCount, a.MaxCount = 0, d.Uint32()
}

// DecodePlus reads a from d as the arguments of READDIRPLUS.
func (a *ReaddirArgs) DecodePlus(d *xdr.Decoder) {
	a.decodeStart(d)
	a.DirCount = d.Uint32()
	a.MaxCount = d.Uint32()
}

func (a *ReaddirArgs) decodeStart(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Cookie = d.Uint64()
	copy(a.CookieVerifier[:], d.Fixed(len(a.CookieVerifier)))
}

// DirEntry is one name of a directory.
type DirEntry struct {
	FileID        uint64
	Name          string
	Cookie        uint64 // where to go on after this entry
	Attr          OptAttr
	HandlePresent bool
	Handle        []byte
}

// Append appends e to b as READDIR has it.
func (e *DirEntry) Append(b []byte) []byte {
	b = xdr.AppendUint64(b, e.FileID)
	b = xdr.AppendString(b, e.Name)
	return xdr.AppendUint64(b, e.Cookie)
}

// AppendPlus appends e to b as READDIRPLUS has it.
func (e *DirEntry) AppendPlus(b []byte) []byte {
	b = e.Append(b)
	b = e.Attr.Append(b)
	return appendOptHandle(b, e.HandlePresent, e.Handle)
}

func (e *DirEntry) decode(d *xdr.Decoder, plus bool) {
	*e = DirEntry{FileID: d.Uint64(), Name: d.String(MaxNameBytes), Cookie: d.Uint64()}
	if plus {
		e.Attr.Decode(d)
		e.HandlePresent, e.Handle = decodeOptHandle(d)
	}
}

// ReaddirRes are the results of READDIR and READDIRPLUS.
type ReaddirRes struct {
	Status         Status
	DirAttr        OptAttr
	CookieVerifier [8]byte // only with OK, like all that follow
	Entries        []DirEntry
	EOF            bool
}

// Append appends r to b as the results of READDIR.
func (r *ReaddirRes) Append(b []byte) []byte { return r.append(b, (*DirEntry).Append) }

// AppendPlus appends r to b as the results of READDIRPLUS.
func (r *ReaddirRes) AppendPlus(b []byte) []byte { return r.append(b, (*DirEntry).AppendPlus) }

func (r *ReaddirRes) append(b []byte, entry func(*DirEntry, []byte) []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.DirAttr.Append(b)
	if r.Status != OK {
		return b
	}
	b = append(b, r.CookieVerifier[:]...)
	for i := range r.Entries {
		b = xdr.AppendBool(b, true)
		b = entry(&r.Entries[i], b)
	}
	b = xdr.AppendBool(b, false)
	return xdr.AppendBool(b, r.EOF)
}

// Decode reads r from d as the results of READDIR.
func (r *ReaddirRes) Decode(d *xdr.Decoder) { r.decode(d, false) }

// DecodePlus reads r from d as the results of READDIRPLUS.
func (r *ReaddirRes) DecodePlus(d *xdr.Decoder) { r.decode(d, true) }

func (r *ReaddirRes) decode(d *xdr.Decoder, plus bool) {
	r.Status = Status(d.Uint32())
	r.DirAttr.Decode(d)
	r.Entries = r.Entries[:0]
	if r.Status != OK {
		return
	}
	copy(r.CookieVerifier[:], d.Fixed(len(r.CookieVerifier)))
	// Each entry takes at least 28 bytes of input, which bounds the list.
	for d.Bool() {
		var e DirEntry
		e.decode(d, plus)
		if d.Err() != nil {
			return
		}
		r.Entries = append(r.Entries, e)
	}
	r.EOF = d.Bool()
}
