package bench

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Capacity returns the search of a load, or nil.
func (w Workload) Capacity() *Capacity {
	switch {
	case w.Raw != nil:
		return w.Raw.Capacity
	case w.SLOB != nil:
		return w.SLOB.Capacity
	default:
		return nil
	}
}

// Name is the kind of the load and how it accesses the storage, such as "Raw Read".
func (w Workload) Name() string {
	switch {
	case w.Raw != nil:
		return "Raw " + string(w.Raw.Pattern)
	case w.SLOB != nil:
		return "SLOB " + string(w.SLOB.Access)
	case w.Calibrate != nil:
		return "Calibrate"
	default:
		return ""
	}
}

// BlockBytes is the size of one I/O. Without blockSize it is 8 KiB for random patterns, a block of an Oracle
// database, and 1 MiB for the others, a read of its scans.
func (w RawWorkload) BlockBytes() int64 {
	switch {
	case w.BlockSize != nil:
		return w.BlockSize.Value()
	case strings.HasPrefix(string(w.Pattern), "Random"):
		return 8 << 10
	default:
		return 1 << 20
	}
}

// Ramp returns the users of each step: the one step without users has all threads of all schemas.
func (w SLOBWorkload) Ramp() []int32 {
	if len(w.Users) > 0 {
		return w.Users
	}
	return []int32{max(w.Schemas, 1) * max(w.ThreadsPerSchema, 1)}
}

// TableBytes is the size of the table that the load reads in each schema.
func (w SLOBWorkload) TableBytes() int64 {
	if w.Access == SLOBFullTableScan {
		return w.ScanTableSize.Value()
	}
	return w.Scale.Value()
}

// MTUBytes is the declared MTU, or the 1500 of Ethernet.
func (l Link) MTUBytes() int32 { return cmp.Or(l.MTU, 1500) }

// String returns the path, with the client address in front where one is declared.
func (p ResolvedPath) String() string {
	if from := cmp.Or(p.Local, p.LocalInterface); from != "" {
		return from + " -> " + p.Path
	}
	return p.Path
}

// OrZero is the value of a field that may be absent.
func OrZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// Bytes is a size as it is after it was written and read.
func Bytes(n int64) *resource.Quantity { return quantity(n, resource.BinarySI) }

// Bits is a speed as it is after it was written and read.
func Bits(n int64) *resource.Quantity { return quantity(n, resource.DecimalSI) }

func quantity(n int64, format resource.Format) *resource.Quantity {
	return new(resource.MustParse(resource.NewQuantity(n, format).String()))
}
