package content

import (
	"bytes"
	"compress/flate"
	"math/rand/v2"
	"strings"
	"testing"
)

const mib = 1 << 20

func TestDataDependsOnSeedFileOffsetAndGenerationOnly(t *testing.T) {
	at := func(seed uint64, file string, off int64, gen uint64) []byte {
		buf := make([]byte, 8192)
		NewPool(seed).File(file).Write(buf, off, gen)
		return buf
	}
	ref := at(1, "c0-j0.dat", 4096, 7)
	if !bytes.Equal(ref, at(1, "c0-j0.dat", 4096, 7)) {
		t.Error("the same numbers gave other data")
	}
	whole := make([]byte, 3*mib)
	NewPool(1).File("c0-j0.dat").Write(whole, 0, 7)
	if !bytes.Equal(ref, whole[4096:4096+8192]) {
		t.Error("data depends on how much is made at a time")
	}
	for name, other := range map[string][]byte{
		"seed":       at(2, "c0-j0.dat", 4096, 7),
		"file":       at(1, "c0-j1.dat", 4096, 7),
		"offset":     at(1, "c0-j0.dat", 4096+mib, 7),
		"generation": at(1, "c0-j0.dat", 4096, 8),
	} {
		for s := 0; s < len(ref); s += SectorBytes {
			if bytes.Equal(ref[s:s+SectorBytes], other[s:s+SectorBytes]) {
				t.Errorf("another %s left sector %d as it was", name, s/SectorBytes)
			}
		}
	}
}

func TestNoStorageCanCompressOrDeduplicateIt(t *testing.T) {
	data := make([]byte, 4*mib)
	NewPool(3).File("f").Write(data, 0, 1)
	seen := map[string]bool{}
	for at := 0; at < len(data); at += SectorBytes {
		sector := string(data[at : at+SectorBytes])
		if seen[sector] {
			t.Fatalf("the sector at %d was there before", at)
		}
		seen[sector] = true
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	if packed.Len() < len(data)*99/100 {
		t.Errorf("%d bytes were packed into %d", len(data), packed.Len())
	}
}

func TestABufferOfMovableBlocksNeedsOnlyNewStamps(t *testing.T) {
	d := NewPool(4).File("f")
	if !Movable(2*mib) || Movable(mib+512) || Movable(8192) {
		t.Error("Movable is wrong about 2 MiB, 1 MiB + 512 or 8 KiB")
	}
	moved, want := make([]byte, mib), make([]byte, mib)
	d.Write(moved, 0, 1)
	d.Stamp(moved, 5*mib, 2)
	d.Write(want, 5*mib, 2)
	if !bytes.Equal(moved, want) {
		t.Error("a moved buffer is not what a new one would be")
	}
}

// bent are data of 8 KiB at 8 KiB of the file, of generation 5, which something has happened to.
var bent = map[string]struct {
	bend   func(Data, []byte)
	reason string
	fault  Fault
	says   string
	hidden bool // from the stamps
}{
	"nothing":     {func(Data, []byte) {}, "good data passes", 0, "", true},
	"one bit":     {func(_ Data, b []byte) { b[5000] ^= 1 }, "a flipped bit is found", Corrupted, "byte 13192 is", true},
	"last bit":    {func(_ Data, b []byte) { b[8191] ^= 1 }, "so is one in the last byte", Corrupted, "byte 16383 is", true},
	"first bit":   {func(_ Data, b []byte) { b[0] ^= 1 }, "the stamp itself is checked", Corrupted, "the stamp at offset 8192 is damaged", false},
	"zeros":       {func(_ Data, b []byte) { clear(b) }, "a hole is named", Lost, "offset 8192 holds zeros", false},
	"old data":    {func(d Data, b []byte) { d.Stamp(b, 8192, 4) }, "a lost overwrite is found", Lost, "older write", false},
	"half zeros":  {func(_ Data, b []byte) { clear(b[4096:]) }, "a half written block is torn", Torn, "has data of 2 writes: offset 12288 holds zeros", false},
	"half old":    {func(d Data, b []byte) { d.Stamp(b[4096:], 8192+4096, 4) }, "a half written block is torn", Torn, "older write", false},
	"one sector":  {func(d Data, b []byte) { d.Stamp(b[512:1024], 8192+512, 4) }, "the smallest tear is found", Torn, "offset 8704 holds an older", false},
	"newer data":  {func(d Data, b []byte) { d.Stamp(b, 8192, 9) }, "a write that never was is found", Misplaced, "generation 0x9", false},
	"other place": {func(d Data, b []byte) { d.Write(b, 32768, 5) }, "a misdirected write is found", Misplaced, "another place or file", false},
	"other file":  {func(d Data, b []byte) { d.pool.File("g").Write(b, 8192, 5) }, "as is one of another file", Misplaced, "another place or file", false},
	"other seed":  {func(_ Data, b []byte) { NewPool(6).File("f").Write(b, 8192, 5) }, "data of others are just bytes", Corrupted, "byte 8208 is", false},
	"1 MiB away":  {func(d Data, b []byte) { d.Stamp(b, 8192+mib, 5) }, "the same base data lie there", Misplaced, "another place or file", false},
	"moved and damaged": {
		func(d Data, b []byte) { d.Write(b, 32768, 5); b[0] ^= 1; b[9] ^= 1 },
		"a stamp of no place tells nothing", Corrupted, "byte 8208 is", false,
	},
	"mixed": {
		func(d Data, b []byte) { d.Stamp(b[:512], 8192, 6) },
		"sectors of two accepted writes may lie in one block", 0, "", true,
	},
}

func TestCheckFindsWhatIsWrongAndSaysIt(t *testing.T) {
	for name, tc := range bent {
		t.Run(name, func(t *testing.T) {
			d := NewPool(5).File("f")
			buf := make([]byte, 8192)
			d.Write(buf, 8192, 5)
			tc.bend(d, buf)
			found := d.Check(buf, 8192, 5, 6)
			switch {
			case found == nil && tc.fault != 0:
				t.Errorf("%s: nothing was found", tc.reason)
			case found != nil && (found.Fault != tc.fault || !strings.Contains(found.Text, tc.says)):
				t.Errorf("%s: got %+v, want %d with %q", tc.reason, found, tc.fault, tc.says)
			}
		})
	}
}

func TestADamagedStampIsNoOtherPlace(t *testing.T) {
	d, buf := NewPool(5).File("f"), make([]byte, SectorBytes)
	const gen = 7<<32 + 3
	faultOf := func(bend func()) Fault {
		d.Write(buf, 8192, gen)
		bend()
		return d.Check(buf, 8192, gen-1, gen).Fault
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		damage := func(from, to int) func() {
			return func() {
				for at := from; at < to; at++ {
					buf[at] ^= byte(1 + random.IntN(255))
				}
			}
		}
		for what, bend := range map[string]func(){
			"one bit":         func() { buf[i%128/8] ^= 1 << (i % 8) },
			"the first half":  damage(0, 8),
			"the second half": damage(8, 16),
			"all of it":       damage(0, 16),
		} {
			if got := faultOf(bend); got != Corrupted {
				t.Fatalf("%s of the stamp is damaged: fault %d", what, got)
			}
		}
		place, written := 8192+int64(1+i)*mib, uint64(i)<<32+uint64(random.IntN(1000))
		if got := faultOf(func() { d.Write(buf, place, written) }); got != Misplaced {
			t.Fatalf("the data of offset %d are here: fault %d", place, got)
		}
	}
}

// A read is checked by few of its stamps. Reads in turn look at all of them.
func TestTheStampsShowEveryFaultButThoseOfBytes(t *testing.T) {
	for name, tc := range bent {
		t.Run(name, func(t *testing.T) {
			d := NewPool(5).File("f")
			buf := make([]byte, 8192)
			d.Write(buf, 8192, 5)
			tc.bend(d, buf)
			good := true
			for turn := range uint64(8) {
				good = d.Stamped(buf, 8192, turn, 5, 6) && good
			}
			if good != tc.hidden {
				t.Errorf("the stamps of all turns are good: %v", good)
			}
		})
	}
}

func TestEveryStampOfASmallReadIsLookedAtInTurn(t *testing.T) {
	for _, size := range []int{512, 1024, 2048, 4096} {
		d, buf := NewPool(5).File("f"), make([]byte, size)
		for bad := 0; bad < size; bad += SectorBytes {
			d.Write(buf, 512, 5)
			buf[bad] ^= 1
			seen := false
			for turn := range uint64(8) {
				seen = seen || !d.Stamped(buf, 512, turn, 5, 5)
			}
			if !seen {
				t.Errorf("no turn sees sector %d of %d bytes", bad/SectorBytes, size)
			}
		}
	}
}

// BenchmarkRead measures what the check of a read costs: the stamps of each, all bytes of one in a hundred.
func BenchmarkRead(b *testing.B) {
	for name, size := range map[string]int{"8KiB": 8192, "1MiB": mib} {
		d, buf := NewPool(1).File("f"), make([]byte, size)
		d.Write(buf, 16384, 1)
		turn := uint64(0)
		b.Run(name+"/stamps", func(b *testing.B) {
			for b.Loop() {
				if turn++; !d.Stamped(buf, 16384, turn, 1, 1) {
					b.Fatal("it is wrong")
				}
			}
		})
		b.Run(name+"/bytes", func(b *testing.B) {
			for b.Loop() {
				if d.Check(buf, 16384, 1, 1) != nil {
					b.Fatal("it is wrong")
				}
			}
		})
	}
}

func BenchmarkStamp1MiB(b *testing.B) {
	d, buf := NewPool(1).File("f"), make([]byte, mib)
	b.SetBytes(mib)
	for b.Loop() {
		d.Stamp(buf, 0, 1)
	}
}

func BenchmarkWrite8KiB(b *testing.B) {
	d, buf := NewPool(1).File("f"), make([]byte, 8192)
	b.SetBytes(8192)
	for b.Loop() {
		d.Write(buf, 16384, 1)
	}
}
