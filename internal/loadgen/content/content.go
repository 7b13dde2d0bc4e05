// Package content makes the data of our files: random, so that no storage can
// compress it, different in every sector, so that none can deduplicate it, and
// computable from a few numbers, so that every byte can be checked later.
//
// The base of a file's data is one pool of random bytes, repeated. Over it
// every sector of 512 bytes carries a stamp of 16 bytes at its start, made of
// the seed, the file, the position and a generation. The stamp is what makes
// the sector unique; changing it is all that an overwrite costs. The generation
// tells a write from those before it.
package content

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

const (
	// SectorBytes is the distance of the stamps.
	SectorBytes = 512
	// poolBytes is the period of the base data: larger than any window in which
	// storage systems look for repetitions to compress.
	poolBytes  = 1 << 20
	stampBytes = 16
)

// Pool is the random base data of one seed. It is read-only once made.
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

// File gives the data of the file name.
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

// Write fills buf with the data from off on, in generation gen. Both off and
// the length are multiples of SectorBytes.
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

// Movable reports whether the base data of all blocks of this size is the same,
// so that a buffer that has it once needs only new stamps for another block.
func Movable(blockBytes int64) bool { return blockBytes%poolBytes == 0 }

// Stamp puts the stamps of generation gen into buf, which holds the data from
// off on. It changes nothing else.
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

// Check compares buf, which was read from off, with what the file must hold
// there: the data of generations first to last, each sector for itself, since
// writes of less than a block may have been the last ones. It returns nil, or
// an error that says where the first difference is and what it looks like.
func (d Data) Check(buf []byte, off int64, first, last uint64) error {
	var want [SectorBytes]byte
	for at := 0; at+SectorBytes <= len(buf); at += SectorBytes {
		got := buf[at : at+SectorBytes]
		pos := off + int64(at)
		gen := binary.LittleEndian.Uint64(got) ^ Mix(d.key+uint64(pos)/SectorBytes) // good only if nothing differs below
		d.Write(want[:], pos, gen)
		if !bytes.Equal(got, want[:]) {
			return d.explain(got, want[:], pos)
		}
		if gen < first || gen > last {
			return fmt.Errorf("offset %d holds an older write: generation %#x, expected %#x to %#x", pos, gen, first, last)
		}
	}
	return nil
}

func (d Data) explain(got, want []byte, pos int64) error {
	i := stampBytes
	for i < len(got) && got[i] == want[i] {
		i++
	}
	switch {
	case len(bytes.Trim(got, "\x00")) == 0:
		return fmt.Errorf("offset %d holds zeros: what was written there is gone", pos)
	case i == len(got):
		return fmt.Errorf("offset %d holds the data of another place or file", pos)
	default:
		return fmt.Errorf("byte %d is %#02x, expected %#02x", pos+int64(i), got[i], want[i])
	}
}

// Mix spreads the bits of x over the whole word, one to one, like SplitMix64.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
