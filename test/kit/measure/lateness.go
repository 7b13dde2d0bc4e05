package measure

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Lateness records how long a program's own waits of 300 µs take, beside those of the kernel
// alone: a busy machine makes both longer.
func Lateness(t testing.TB, wait func(time.Duration)) {
	t.Helper()
	const d = 300 * time.Microsecond
	var own, kernel []float64
	for range 50 {
		began := time.Now()
		wait(d)
		own = append(own, time.Since(began).Seconds())
		began = time.Now()
		left := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&left, nil)
		kernel = append(kernel, time.Since(began).Seconds())
	}
	Ratio(t, "a wait of "+d.String(), "one by the kernel alone", AtMost(2), own, kernel)
}
