package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// FileType is nfs_ftype4.
type FileType uint32

// File types that matter here.
const (
	TypeRegular   FileType = 1
	TypeDirectory FileType = 2
)

// Bits of the known attributes (RFC 7530 section 5.6, RFC 8881 section 5.6): those that this client requests or sets.
const (
	AttrType          = 1
	AttrSize          = 4
	AttrFSID          = 8
	AttrLeaseTime     = 10
	AttrReadDirError  = 11
	AttrFSLocations   = 24
	AttrMaxRead       = 30
	AttrMaxWrite      = 31
	AttrMode          = 33
	AttrNumLinks      = 35
	AttrOwner         = 36
	AttrOwnerGroup    = 37
	AttrSpaceAvail    = 42
	AttrSpaceTotal    = 44
	AttrFSLayoutTypes = 62
)

// attrBits is above the bits of all known attributes.
const attrBits = AttrFSLayoutTypes + 1

// Attrs is fattr4: the attributes of a file or a file system that Mask names. Sizes, limits and spaces are bytes.
// Unknown bits of Mask are not encoded. Decoding them is an error, because the length of an unknown value is unknown.
type Attrs struct {
	Mask Bitmap

	Type              FileType
	Size              uint64
	FSID              FSID
	LeaseSeconds      uint32
	ReadDirError      Status
	FSLocations       FSLocations
	MaxRead, MaxWrite uint64
	Mode              uint32
	NumLinks          uint32 // number of names of the file
	Owner, OwnerGroup string
	SpaceAvail        uint64 // what the calling user can still write
	SpaceTotal        uint64
	FSLayoutTypes     []uint32 // Layout types of the file system; NFSv4.1 only
}

// FSLocations is fs_locations4: the locations of a file system.
type FSLocations struct {
	Root      []string // path of the file system here, by component
	Locations []FSLocation
}

// FSLocation is fs_location4: servers, and the path of the file system on them.
type FSLocation struct {
	Servers []string
	Root    []string
}

func (l *FSLocations) code(c *xdr.Coder) {
	codeStrings(c, &l.Root)
	xdr.Bounded(c, &l.Locations, MaxListItems, 8, func(l *FSLocation) {
		codeStrings(c, &l.Servers)
		codeStrings(c, &l.Root)
	})
}

func codeStrings(c *xdr.Coder, all *[]string) {
	xdr.Bounded(c, all, MaxListItems, 4, func(s *string) { c.String(s, MaxNameBytes) })
}

// Code codes Mask and the values that it names.
func (a *Attrs) Code(c *xdr.Coder) {
	if c.Encoding() {
		mask, values := a.Values()
		mask.Code(c)
		c.Opaque(&values, MaxAttrBytes)
		return
	}
	var mask Bitmap
	var values []byte
	mask.Code(c)
	if c.Opaque(&values, MaxAttrBytes); c.Failed() {
		return
	}
	if err := a.DecodeValues(mask, values); err != nil {
		c.Refuse(err)
	}
}

// Values returns the attributes in the form of DirEntry: the known bits of Mask, and their concatenated values.
func (a *Attrs) Values() (Bitmap, []byte) {
	var mask Bitmap
	c := xdr.NewEncoder(nil)
	for bit := range uint32(attrBits) {
		if a.Mask.Has(bit) && a.codeValue(&c, bit) {
			mask.Set(bit)
		}
	}
	return mask, c.Bytes()
}

// DecodeValues decodes the attributes in mask from values, and requires that they use all of it.
func (a *Attrs) DecodeValues(mask Bitmap, values []byte) error {
	*a = Attrs{Mask: mask}
	d := xdr.NewDecoder(values)
	c := d.Coder()
	for bit := range uint32(32 * len(mask)) {
		if mask.Has(bit) && !a.codeValue(&c, bit) {
			c.Refuse(xdr.ErrBadValue)
		}
	}
	d = c.Decoder()
	if d.Len() > 0 {
		d.Fail(ErrTrailing)
	}
	return d.Err()
}

// codeValue codes the value of an attribute, and reports whether it is known.
func (a *Attrs) codeValue(c *xdr.Coder, bit uint32) bool {
	switch bit {
	case AttrType:
		c.Uint32((*uint32)(&a.Type))
	case AttrSize:
		c.Uint64(&a.Size)
	case AttrFSID:
		a.FSID.Code(c)
	case AttrLeaseTime:
		c.Uint32(&a.LeaseSeconds)
	case AttrReadDirError:
		a.ReadDirError.Code(c)
	case AttrFSLocations:
		a.FSLocations.code(c)
	case AttrMaxRead:
		c.Uint64(&a.MaxRead)
	case AttrMaxWrite:
		c.Uint64(&a.MaxWrite)
	case AttrMode:
		c.Uint32(&a.Mode)
	case AttrNumLinks:
		c.Uint32(&a.NumLinks)
	case AttrOwner:
		c.String(&a.Owner, MaxOwnerBytes)
	case AttrOwnerGroup:
		c.String(&a.OwnerGroup, MaxOwnerBytes)
	case AttrSpaceAvail:
		c.Uint64(&a.SpaceAvail)
	case AttrSpaceTotal:
		c.Uint64(&a.SpaceTotal)
	case AttrFSLayoutTypes:
		xdr.Bounded(c, &a.FSLayoutTypes, MaxListItems, 4, func(t *uint32) { c.Uint32(t) })
	default:
		return false
	}
	return true
}
