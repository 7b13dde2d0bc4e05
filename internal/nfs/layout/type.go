package layout

import "strconv"

// Type is a layout type (RFC 8881 3.3.13 and the registry of RFC 8881 22.4).
type Type uint32

// Layout types. Only Files is decoded here.
const (
	Files         Type = 1 // RFC 8881 chapter 13
	Objects       Type = 2 // RFC 5664
	Blocks        Type = 3 // RFC 5663
	FlexibleFiles Type = 4 // RFC 8435
	SCSI          Type = 5 // RFC 8154
)

// String returns the name of the layout type for messages, or its number.
func (t Type) String() string {
	switch t {
	case Files:
		return "files"
	case Objects:
		return "OSD objects"
	case Blocks:
		return "blocks"
	case FlexibleFiles:
		return "flexible files"
	case SCSI:
		return "SCSI"
	}
	return "layout type " + strconv.FormatUint(uint64(t), 10)
}

// IOMode says what a segment may be used for (RFC 8881 3.3.20).
type IOMode uint32

// I/O modes.
const (
	ModeRead      IOMode = 1
	ModeReadWrite IOMode = 2 // also good for reading
	ModeAny       IOMode = 3 // in LAYOUTRETURN and recalls only
)
