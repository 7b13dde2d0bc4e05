// Package content makes the data of our files: random, so that no storage can compress it, different in every
// sector, so that no storage can deduplicate it, and computable from a few numbers, so that every byte can be
// checked later.
//
// The base of a file's data is one pool of random bytes, repeated. On top, every sector of 512 bytes starts
// with a stamp of 16 bytes, made of the seed, the file, the position and a generation. The stamp makes the
// sector unique; an overwrite changes only the stamps. The generation distinguishes a write from earlier
// writes.
package content

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

const (
	// SectorBytes is the distance between stamps.
	SectorBytes = 512
	// poolBytes is the period of the base data: larger than the window in which any storage system looks for
	// repetitions to compress.
	poolBytes  = 1 << 20
	stampBytes = 16
)

// Pool is the random base data of one seed. It is read-only.
type Pool struct {
	seed uint64
	base []byte
}

// NewPool makes the base data of seed.
func NewPool(seed uint64) *Pool {
	src := rand.NewPCG(seed, 0x6e667362656e6368) // "nfsbench": any constant
	base := make([]byte, poolBytes)
	for i := 0; i < len(base); i += 8 {
		binary.LittleEndian.PutUint64(base[i:], src.Uint64())
	}
	return &Pool{seed: seed, base: base}
}

// File returns the data of the file name.
func (p *Pool) File(name string) Data {
	key := p.seed
	for _, c := range []byte(name) {
		key = Mix(key ^ uint64(c))
	}
	return Data{pool: p, key: Mix(key)}
}

// Data is the data of one file. The zero value is not usable.
type Data struct {
	pool *Pool
	key  uint64
}

// Write fills buf with the data from off on, in generation gen. Both off and the length are multiples of
// SectorBytes.
func (d Data) Write(buf []byte, off int64, gen uint64) {
	d.Base(buf, off)
	d.Stamp(buf, off, gen)
}

// Base fills buf with the base data from off on, without the stamps.
func (d Data) Base(buf []byte, off int64) {
	at := int(off % poolBytes)
	for len(buf) > 0 {
		n := copy(buf, d.pool.base[at:])
		buf, at = buf[n:], 0
	}
}

// Movable reports whether all blocks of this size have the same base data, so that a buffer with this data
// needs only new stamps for another block.
func Movable(blockBytes int64) bool { return blockBytes%poolBytes == 0 }

// Stamp puts the stamps of generation gen into buf, which holds the data from off on. It changes nothing
// else.
func (d Data) Stamp(buf []byte, off int64, gen uint64) {
	sector := uint64(off) / SectorBytes
	for len(buf) >= SectorBytes {
		where := Mix(d.key + sector)
		binary.LittleEndian.PutUint64(buf, where^gen)
		binary.LittleEndian.PutUint64(buf[8:], Mix(where+gen))
		buf = buf[SectorBytes:]
		sector++
	}
}

// Fault is a kind of wrong data.
type Fault int

// The faults, from the mildest to the worst: a block with several faults has the last of them.
const (
	Lost      Fault = iota + 1 // an older write, or zeros
	Torn                       // sectors of different writes, or with zeros between them
	Misplaced                  // the data of another place, another file or another run
	Corrupted                  // bytes that nobody wrote
)

// Difference describes how data differ from the written data.
type Difference struct {
	Fault
	Offset int64 // in the file, of the first sector that differs
	Text   string
}

// stampEvery is the distance between the stamps that Stamped checks.
const stampEvery = 4096

// Stamped checks one stamp in each 4 KiB of buf, which was read from off. It reports whether each stamp has the
// right place and file, and a generation from first to last. turn chooses the sector, so that calls with
// different turns check all sectors.
func (d Data) Stamped(buf []byte, off int64, turn uint64, first, last uint64) bool {
	at := int(turn) % (stampEvery / SectorBytes) * SectorBytes
	if at >= len(buf) {
		at %= len(buf)
	}
	for ; at+stampBytes <= len(buf); at += stampEvery {
		if gen, ok := d.stamp(buf[at:], off+int64(at)); !ok || gen < first || gen > last {
			return false
		}
	}
	return true
}

// stamp returns the generation in the stamp of a sector, and whether the stamp belongs there.
func (d Data) stamp(sector []byte, off int64) (gen uint64, ok bool) {
	where := Mix(d.key + uint64(off)/SectorBytes)
	gen = binary.LittleEndian.Uint64(sector) ^ where
	return gen, binary.LittleEndian.Uint64(sector[8:]) == Mix(where+gen)
}

// Check compares every byte of buf, which was read from off, with the data of generations first to last. It
// allows a different generation for each sector, because two writes may each have written a part. It returns
// nil if nothing differs.
func (d Data) Check(buf []byte, off int64, first, last uint64) *Difference {
	for at := 0; at+SectorBytes <= len(buf); at += SectorBytes {
		if gen, ok := d.sector(buf[at:at+SectorBytes], off+int64(at)); !ok || gen < first || gen > last {
			return d.explain(buf, off, first, last)
		}
	}
	return nil
}

// sector returns the generation of a sector, and whether all its bytes belong to that generation.
func (d Data) sector(got []byte, off int64) (gen uint64, ok bool) {
	gen, ok = d.stamp(got, off)
	at := int(off % poolBytes)
	return gen, ok && bytes.Equal(got[stampBytes:], d.pool.base[at+stampBytes:at+SectorBytes])
}

// explain describes data that differ.
func (d Data) explain(buf []byte, off int64, first, last uint64) *Difference {
	var worst *Difference
	const none = ^uint64(0)
	writes := map[uint64]bool{}
	for at := 0; at+SectorBytes <= len(buf); at += SectorBytes {
		got, pos := buf[at:at+SectorBytes], off+int64(at)
		gen, ok := d.sector(got, pos)
		var found *Difference
		switch {
		case ok && gen >= first && gen <= last:
		case ok && gen > last:
			found = &Difference{Misplaced, pos, fmt.Sprintf("offset %d holds a write that this run did not make: generation "+
				"%#x, expected %#x to %#x", pos, gen, first, last)}
		case ok:
			found = &Difference{Lost, pos, fmt.Sprintf("offset %d holds an older write: generation %#x, expected %#x to %#x",
				pos, gen, first, last)}
		case len(bytes.Trim(got, "\x00")) == 0:
			gen = none
			found = &Difference{Lost, pos, fmt.Sprintf("offset %d holds zeros: what was written there is gone", pos)}
		case d.isElsewhere(got, pos, last):
			found = &Difference{Misplaced, pos, fmt.Sprintf("offset %d holds the data of another place or file", pos)}
		default:
			found = &Difference{Corrupted, pos, d.damage(got, pos)}
		}
		writes[gen] = true
		if found != nil && (worst == nil || found.Fault > worst.Fault) {
			worst = found
		}
	}
	if worst.Fault == Lost && len(writes) > 1 {
		worst.Fault = Torn
		worst.Text = fmt.Sprintf("the block at %d has data of %d writes: %s", off, len(writes), worst.Text)
	}
	return worst
}

// isElsewhere reports whether a sector belongs to another place or file. If one half of its stamp belongs
// here, the other half is damaged.
func (d Data) isElsewhere(got []byte, off int64, last uint64) bool {
	where := Mix(d.key + uint64(off)/SectorBytes)
	one, two := binary.LittleEndian.Uint64(got), unmix(binary.LittleEndian.Uint64(got[8:]))
	return one^where > last && two-where > last && isStamp(one, two) && d.pool.has(got[stampBytes:])
}

// isStamp reports whether there are numbers where and gen with one as their exclusive or and two as their
// sum: the difference of two and one is then twice the common bits of where and gen, and one has none of
// these bits. One of 10^8 random pairs passes.
func isStamp(one, two uint64) bool { return (two-one)&1 == 0 && (two-one)>>1&one == 0 }

// damage describes the first damaged byte of a sector.
func (d Data) damage(got []byte, off int64) string {
	want := d.pool.base[off%poolBytes:]
	for i := stampBytes; i < len(got); i++ {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d is %#02x, expected %#02x", off+int64(i), got[i], want[i])
		}
	}
	return fmt.Sprintf("the stamp at offset %d is damaged", off)
}

// has reports whether any sector of the pool ends with these bytes.
func (p *Pool) has(end []byte) bool {
	for at := stampBytes; at < poolBytes; at += SectorBytes {
		if bytes.Equal(p.base[at:at+len(end)], end) {
			return true
		}
	}
	return false
}

// Mix spreads the bits of x over the whole word, one to one, like SplitMix64.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unmix is the inverse of Mix.
func unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return (x ^ x>>30 ^ x>>60) - 0x9e3779b97f4a7c15
}
