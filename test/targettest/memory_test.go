package targettest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/test/targettest"
)

func TestConformance(t *testing.T) {
	for name, threads := range map[string]int{"a thread for each slot": 0, "one thread": 1, "three threads": 3} {
		t.Run(name, func(t *testing.T) {
			targettest.Run(t, func(testing.TB) target.Target { return &targettest.Memory{ThreadCount: threads} })
		})
	}
}

// reads is a Driver that reads one block over and over, until a time.
type reads struct {
	file  target.File
	until time.Time
	ended []int // by slot
	err   error
}

func (r *reads) Next(o *target.IO) bool {
	o.File, o.Buf = r.file, make([]byte, 512)
	return time.Now().Before(r.until)
}

func (r *reads) Done(o *target.IO) {
	r.ended[o.Slot]++
	if o.Err != nil {
		r.err = o.Err
	}
}

func TestAStreamTakesAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		fail := false
		tgt := &targettest.Memory{ThreadCount: 1, Delay: 10 * time.Millisecond, BeforeIO: func(string, string, int64) error {
			if fail {
				return boom
			}
			return nil
		}}
		dir, err := tgt.Directory(t.Context(), "d", true)
		if err != nil {
			t.Fatal(err)
		}
		f, err := dir.Open(t.Context(), "f", target.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(t.Context(), make([]byte, 512), 0); err != nil {
			t.Fatal(err)
		}
		s, err := tgt.NewStream(t.Context(), target.StreamOptions{Slots: 3, BlockBytes: 512, Streams: 1})
		if err != nil {
			t.Fatal(err)
		}
		d := &reads{file: f, until: time.Now().Add(time.Second), ended: make([]int, 3)}
		s.Run(t.Context(), d)
		if d.err != nil || d.ended[0] != 100 || d.ended[1] != 100 || d.ended[2] != 100 {
			t.Errorf("in a second, slots of 10 ms did %v I/Os, %v", d.ended, d.err)
		}
		fail = true
		d.until = time.Now().Add(time.Nanosecond)
		s.Run(t.Context(), &limited{d, 1})
		if !errors.Is(d.err, boom) {
			t.Errorf("a failure that was asked for gave %v", d.err)
		}
	})
}

// limited lets so many I/Os through.
type limited struct {
	target.Driver
	left int
}

func (l *limited) Next(o *target.IO) bool {
	l.left--
	return l.left >= 0 && l.Driver.Next(o)
}
