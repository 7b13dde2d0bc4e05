package procfs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// microsecondsPerTick: /proc/stat counts in USER_HZ, which the kernel fixes at
// 100 for user space on every architecture that we build for.
const microsecondsPerTick = 1_000_000 / 100

// The columns of the cpu line of /proc/stat, see proc_stat(5). Guest time is
// not among them because it is contained in user time.
const (
	columnIdle    = 3
	columnIOWait  = 4
	columnSteal   = 7
	countedColumn = columnSteal + 1
)

// CPU is the CPU time of a machine since it was started.
type CPU struct {
	// BusyMicroseconds is everything but idle and waiting for I/O. Time that a
	// hypervisor gave to others ("steal") counts as busy: it was not to be had.
	BusyMicroseconds  int64
	TotalMicroseconds int64
	Online            int32 // CPUs
}

// ParseCPU reads /proc/stat.
func ParseCPU(in io.Reader) (CPU, error) {
	var (
		cpu   CPU
		found bool
		scan  = newScanner(in)
	)
	for scan.Scan() {
		fields := strings.Fields(scan.Text())
		switch {
		case len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] == "cpu":
			if err := cpu.addColumns(fields[1:]); err != nil {
				return CPU{}, err
			}
			found = true
		default:
			cpu.Online++
		}
	}
	if err := scan.Err(); err != nil {
		return CPU{}, err
	}
	if !found {
		return CPU{}, errors.New(`no line "cpu"`)
	}
	return cpu, nil
}

// addColumns sums the columns up to steal. Kernels before 2.6.11 have fewer.
func (c *CPU) addColumns(columns []string) error {
	if len(columns) <= columnIdle {
		return fmt.Errorf("the cpu line has %d columns, want at least %d", len(columns), columnIdle+1)
	}
	for i, word := range columns[:min(len(columns), countedColumn)] {
		ticks, err := counter(word)
		if err != nil {
			return fmt.Errorf("cpu column %d: %w", i+1, err)
		}
		if ticks > math.MaxInt64/microsecondsPerTick/countedColumn {
			return fmt.Errorf("cpu column %d: %d ticks are too many", i+1, ticks)
		}
		c.TotalMicroseconds += ticks * microsecondsPerTick
		if i != columnIdle && i != columnIOWait {
			c.BusyMicroseconds += ticks * microsecondsPerTick
		}
	}
	return nil
}
