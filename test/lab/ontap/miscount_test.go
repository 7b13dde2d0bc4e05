package ontap_test

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// add makes reads of a volume.
func (s *scripted) add(volume string, reads uint64) {
	c := s.Volume(volume)
	c.Read.Ops += reads
	s.SetVolume(volume, c)
}

// reads returns the number of reads that the volume reports after a step of the grid.
func (w *world) reads(t *testing.T) int {
	t.Helper()
	w.clock.step(15 * time.Second)
	all := w.records(t, "/api/storage/volumes?name=vol1&svm.name=vsdb122b&fields=statistics")
	n, ok := at(all[0], "statistics.iops_raw.read").(float64)
	if !ok {
		t.Fatalf("no reads in %v", all[0])
	}
	return int(n)
}

func TestCountersAreWrongAsTheyAreTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wrong ontap.Miscount
		want  []int // reads reported after each step of 100 reads
		after int   // reads reported after the counters are right again
	}{
		"not at all":          {ontap.Miscount{}, []int{200, 300, 400}, 500},
		"counted twice":       {ontap.Miscount{Percent: 200}, []int{300, 500, 700}, 800},
		"half is not counted": {ontap.Miscount{Percent: 50}, []int{150, 200, 250}, 350},
		"others are counted":  {ontap.Miscount{Beside: []string{"vol2"}}, []int{210, 320, 430}, 530},
		"they are late":       {ontap.Miscount{Lag: 30 * time.Second}, []int{100, 100, 200}, 500},
		"they are stuck":      {ontap.Miscount{Stuck: true}, []int{100, 100, 100}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(o *ontap.Options) {
				second := o.Model.Volumes[0]
				second.Name, second.UUID = "vol2", ""
				o.Model.Volumes = append(o.Model.Volumes, second)
			})
			done := func() int {
				w.truth.add("vol1", 100)
				w.truth.add("vol2", 10)
				return w.reads(t)
			}
			if got := done(); got != 100 {
				t.Fatalf("%d reads are told, 100 were made", got)
			}
			w.SetMiscount(tc.wrong)
			for i, want := range tc.want {
				if got := done(); got != want {
					t.Errorf("step %d: %d reads are told, want %d", i, got, want)
				}
			}
			w.SetMiscount(ontap.Miscount{})
			if got := done(); got != tc.after {
				t.Errorf("afterwards %d reads are told, want %d", got, tc.after)
			}
		})
	}
}

func TestCountersThatWereResetBeginAtZero(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.truth.add("vol1", 100)
	_ = w.reads(t)
	w.Reset()
	w.truth.add("vol1", 7)
	if got := w.reads(t); got != 7 {
		t.Errorf("%d reads are told, 7 were made since", got)
	}
}
