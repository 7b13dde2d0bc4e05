package layout

import (
	"strconv"

	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// TypeName returns the name of a layout type (RFC 8881 22.4) for messages, or its number.
func TypeName(kind uint32) string {
	switch kind {
	case v4.LayoutFiles:
		return "files"
	case v4.LayoutObjects:
		return "OSD objects"
	case v4.LayoutBlock:
		return "blocks"
	case v4.LayoutFlexFiles:
		return "flexible files"
	case v4.LayoutSCSI:
		return "SCSI"
	}
	return "layout type " + strconv.FormatUint(uint64(kind), 10)
}
