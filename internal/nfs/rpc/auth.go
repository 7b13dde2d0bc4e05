package rpc

import (
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Flavor is a kind of credential.
type Flavor uint32

// Flavors of RFC 5531 and RFC 2623.
const (
	FlavorNone Flavor = 0
	FlavorSys  Flavor = 1
	FlavorGSS  Flavor = 6
)

// Limits of RFC 5531 appendix A.
const (
	maxMachineBytes = 255
	maxGIDs         = 16
)

// AuthSys is the credential that names a user by number.
type AuthSys struct {
	Stamp   uint32
	Machine string // cut to 255 bytes when encoded
	UID     uint32
	GID     uint32
	GIDs    []uint32 // at most 16 are encoded
}

// Append appends the body of the credential to b.
func (a *AuthSys) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, a.Stamp)
	b = xdr.AppendString(b, a.Machine[:min(len(a.Machine), maxMachineBytes)])
	b = xdr.AppendUint32(b, a.UID)
	b = xdr.AppendUint32(b, a.GID)
	gids := a.GIDs[:min(len(a.GIDs), maxGIDs)]
	b = xdr.AppendUint32(b, uint32(len(gids)))
	for _, g := range gids {
		b = xdr.AppendUint32(b, g)
	}
	return b
}

// Decode reads the body of the credential from d.
func (a *AuthSys) Decode(d *xdr.Decoder) {
	a.Stamp = d.Uint32()
	a.Machine = d.String(maxMachineBytes)
	a.UID = d.Uint32()
	a.GID = d.Uint32()
	n := d.Uint32()
	if n > maxGIDs {
		d.Fail(xdr.ErrTooLong)
		return
	}
	a.GIDs = a.GIDs[:0]
	for range n {
		a.GIDs = append(a.GIDs, d.Uint32())
	}
}

// Auth returns a as a credential.
func (a *AuthSys) Auth() Auth { return Auth{Flavor: FlavorSys, Body: a.Append(nil)} }
