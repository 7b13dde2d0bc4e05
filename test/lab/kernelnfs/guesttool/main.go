// Command guesttool does in the guest what no packaged program does: it takes
// the power from a file system, and compares files with what nfsbench writes.
//
//	guesttool powerloss DIR   nothing that is not on the disk yet gets there
//	guesttool check FILE...   every byte is what nfsbench load --seed 1 wrote
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guesttool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want powerloss with a directory, or check with files")
	}
	switch args[0] {
	case "powerloss":
		return powerLoss(args[1])
	case "check":
		for _, name := range args[1:] {
			if err := check(name); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

// The ioctl EXT4_IOC_SHUTDOWN of ext4(5), with the flag that forgets the log.
const (
	ext4Shutdown   = 0x8004587d
	shutdownNoLogs = 2
)

// powerLoss stops the file system of dir at once. It must be unmounted and
// mounted again, which recovers what the journal and the disk hold.
func powerLoss(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, shutdownNoLogs); err != nil { //nolint:gosec // a descriptor fits an int
		return fmt.Errorf("shut down the file system of %q: %w", dir, err)
	}
	return nil
}

// check reads a whole file and says how long it is.
func check(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	data := content.NewPool(1).File(filepath.Base(name))
	buf := make([]byte, 1<<20)
	size := int64(0)
	for {
		n, err := io.ReadFull(f, buf)
		if n%content.SectorBytes != 0 {
			return fmt.Errorf("%s: %d bytes are left at %d, which is no sector", name, n, size)
		}
		if bad := data.Check(buf[:n], size, 0, math.MaxUint64); bad != nil {
			return fmt.Errorf("%s: %s", name, bad.Text)
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			fmt.Fprintln(os.Stdout, filepath.Base(name), size)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %q: %w", name, err)
		}
	}
}
