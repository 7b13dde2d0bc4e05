package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// FileType is nfs_ftype4.
type FileType uint32

// File types.
const (
	TypeRegular   FileType = 1
	TypeDirectory FileType = 2
	TypeBlock     FileType = 3
	TypeCharacter FileType = 4
	TypeSymlink   FileType = 5
	TypeSocket    FileType = 6
	TypeFIFO      FileType = 7
)

// Bits of the attributes that are known here (RFC 7530 section 5.6, RFC 8881 section 5.6).
const (
	AttrSupported          = 0
	AttrType               = 1
	AttrFHExpireType       = 2
	AttrChange             = 3
	AttrSize               = 4
	AttrFSID               = 8
	AttrLeaseTime          = 10
	AttrReadDirError       = 11
	AttrHandle             = 19
	AttrFileID             = 20
	AttrFSLocations        = 24
	AttrMaxFileSize        = 27
	AttrMaxName            = 29
	AttrMaxRead            = 30
	AttrMaxWrite           = 31
	AttrMode               = 33
	AttrNumLinks           = 35
	AttrOwner              = 36
	AttrOwnerGroup         = 37
	AttrSpaceAvail         = 42
	AttrSpaceFree          = 43
	AttrSpaceTotal         = 44
	AttrSpaceUsed          = 45
	AttrTimeAccess         = 47
	AttrTimeMetadata       = 52
	AttrTimeModify         = 53
	AttrMountedOnFileID    = 55
	AttrFSLayoutTypes      = 62
	AttrLayoutTypes        = 64
	AttrLayoutBlockSize    = 65
	AttrSupportedExclusive = 75
)

// attrBits is above every bit of the attributes that are known here.
const attrBits = AttrSupportedExclusive + 1

// Attrs is fattr4: the attributes of a file or a file system that Mask names. Sizes, limits
// and spaces are bytes. Bits of Mask that KnownAttrs does not have are not encoded, and are an
// error where they are decoded, because the length of an unknown value is not known.
type Attrs struct {
	Mask Bitmap

	Supported          Bitmap
	Type               FileType
	FHExpireType       uint32
	Change             uint64
	Size               uint64
	FSID               FSID
	LeaseSeconds       uint32
	ReadDirError       Status
	Handle             []byte
	FileID             uint64
	FSLocations        FSLocations
	MaxFileSize        uint64
	MaxName            uint32
	MaxRead, MaxWrite  uint64
	Mode               uint32
	NumLinks           uint32
	Owner, OwnerGroup  string
	SpaceAvail         uint64 // what the calling user may still write
	SpaceFree          uint64
	SpaceTotal         uint64
	SpaceUsed          uint64
	TimeAccess         Time
	TimeMetadata       Time
	TimeModify         Time
	MountedOnFileID    uint64
	FSLayoutTypes      []uint32 // Layout types of the file system; NFSv4.1 only
	LayoutTypes        []uint32 // Layout types of the file; NFSv4.1 only
	LayoutBlockSize    uint32
	SupportedExclusive Bitmap // what CreateExclusive41 may set
}

// FSLocations is fs_locations4: where a file system is.
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

// KnownAttrs returns the bits of all attributes that Attrs can hold.
func KnownAttrs() Bitmap {
	var known Bitmap
	var scratch Attrs
	for bit := range uint32(attrBits) {
		c := xdr.NewEncoder(nil)
		if scratch.codeValue(&c, bit) {
			known.Set(bit)
		}
	}
	return known
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

// Values returns the attributes as DirEntry has them: the bits of Mask that are known and
// their values one after the other.
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

// DecodeValues decodes the attributes that mask names from values, which they must fill.
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
	case AttrSupported:
		a.Supported.Code(c)
	case AttrType:
		c.Uint32((*uint32)(&a.Type))
	case AttrFHExpireType:
		c.Uint32(&a.FHExpireType)
	case AttrChange:
		c.Uint64(&a.Change)
	case AttrSize:
		c.Uint64(&a.Size)
	case AttrFSID:
		a.FSID.Code(c)
	case AttrLeaseTime:
		c.Uint32(&a.LeaseSeconds)
	case AttrReadDirError:
		a.ReadDirError.Code(c)
	case AttrHandle:
		c.Opaque(&a.Handle, MaxHandleBytes)
	case AttrFileID:
		c.Uint64(&a.FileID)
	case AttrFSLocations:
		a.FSLocations.code(c)
	case AttrMaxFileSize:
		c.Uint64(&a.MaxFileSize)
	case AttrMaxName:
		c.Uint32(&a.MaxName)
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
	default:
		return a.codeFurther(c, bit)
	}
	return true
}

// codeFurther is codeValue for the attributes behind owner_group.
func (a *Attrs) codeFurther(c *xdr.Coder, bit uint32) bool {
	switch bit {
	case AttrSpaceAvail:
		c.Uint64(&a.SpaceAvail)
	case AttrSpaceFree:
		c.Uint64(&a.SpaceFree)
	case AttrSpaceTotal:
		c.Uint64(&a.SpaceTotal)
	case AttrSpaceUsed:
		c.Uint64(&a.SpaceUsed)
	case AttrTimeAccess:
		a.TimeAccess.Code(c)
	case AttrTimeMetadata:
		a.TimeMetadata.Code(c)
	case AttrTimeModify:
		a.TimeModify.Code(c)
	case AttrMountedOnFileID:
		c.Uint64(&a.MountedOnFileID)
	case AttrFSLayoutTypes:
		codeLayoutTypes(c, &a.FSLayoutTypes)
	case AttrLayoutTypes:
		codeLayoutTypes(c, &a.LayoutTypes)
	case AttrLayoutBlockSize:
		c.Uint32(&a.LayoutBlockSize)
	case AttrSupportedExclusive:
		a.SupportedExclusive.Code(c)
	default:
		return false
	}
	return true
}

func codeLayoutTypes(c *xdr.Coder, types *[]uint32) {
	xdr.Bounded(c, types, MaxListItems, 4, func(t *uint32) { c.Uint32(t) })
}
