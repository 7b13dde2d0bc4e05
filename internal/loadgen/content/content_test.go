package content

import (
	"bytes"
	"compress/flate"
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

func TestCheckFindsWhatIsWrongAndSaysIt(t *testing.T) {
	cases := map[string]struct {
		bend   func(Data, []byte)
		reason string
		says   string
	}{
		"nothing":     {func(Data, []byte) {}, "good data passes", ""},
		"one bit":     {func(_ Data, b []byte) { b[5000] ^= 1 }, "a flipped bit is found", "byte 13192 is"},
		"first bit":   {func(_ Data, b []byte) { b[0] ^= 1 }, "the stamp itself is checked", "another place or file"},
		"zeros":       {func(_ Data, b []byte) { clear(b[512:1024]) }, "a hole is named", "offset 8704 holds zeros"},
		"old data":    {func(d Data, b []byte) { d.Stamp(b[4096:], 8192+4096, 4) }, "a lost overwrite is found", "older write"},
		"newer data":  {func(d Data, b []byte) { d.Stamp(b, 8192, 9) }, "a write that never was is found", "generation 0x9"},
		"other place": {func(d Data, b []byte) { d.Stamp(b, 0, 5) }, "a misdirected write is found", "another place or file"},
		"mixed": {
			func(d Data, b []byte) { d.Stamp(b[:512], 8192, 6) },
			"sectors of two accepted writes may lie in one block", "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := NewPool(5).File("f")
			buf := make([]byte, 8192)
			d.Write(buf, 8192, 5)
			tc.bend(d, buf)
			err := d.Check(buf, 8192, 5, 6)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("%s: got %v, want something with %q", tc.reason, err, tc.says)
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
