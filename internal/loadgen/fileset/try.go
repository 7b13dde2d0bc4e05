package fileset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// tryFormat makes a name that no client uses, that no other check uses, and that a run takes for a file of ours.
const tryFormat = "nfsbench-c9%d.json" + partExtension

// tidyTimeout bounds the removal of what a check made. It counts from the end of the check.
const tidyTimeout = 10 * time.Second

// Try checks all that Prepare checks, and that a file can be written and read back. It removes what it made, also if
// ctx has ended. Unique tells apart two checks at the same time.
func Try(ctx context.Context, t target.Target, spec Spec, unique int64) (err error) {
	s, err := look(ctx, t, spec, false)
	if target.IsNotExist(err) {
		defer func() {
			tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
			defer cancel()
			gone := t.RemoveDirectory(tidy, spec.Directory)
			if gone != nil && !target.IsNotExist(gone) && !target.IsNotEmpty(gone) { // others may use it by now
				err = errors.Join(err, fmt.Errorf("remove directory %q: %w", spec.Directory, gone))
			}
		}()
		s, err = look(ctx, t, spec, true)
	}
	if err != nil {
		return err
	}
	return tryFile(ctx, s.dir, fmt.Sprintf(tryFormat, unique))
}

func tryFile(ctx context.Context, dir target.Directory, name string) (err error) {
	f, err := dir.Open(ctx, name, target.OpenOptions{Create: true, Stable: true})
	if err != nil {
		return fmt.Errorf("create %q: %w", name, err)
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
		defer cancel()
		if closed := f.Close(); closed != nil {
			err = errors.Join(err, fmt.Errorf("close %q: %w", name, closed))
		}
		if gone := dir.Remove(tidy, name); gone != nil && !target.IsNotExist(gone) {
			err = errors.Join(err, fmt.Errorf("remove %q: %w", name, gone))
		}
	}()
	arena, err := target.NewArena(2, target.BufferAlignBytes)
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	wrote, read := arena.Buffer(0), arena.Buffer(1)
	for i := range wrote {
		wrote[i] = byte(i % 251) //nolint:gosec // below 251
	}
	if err := f.WriteAt(ctx, wrote, 0); err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	if _, err := f.ReadAt(ctx, read, 0); err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	if !bytes.Equal(wrote, read) {
		return target.Fail(runfile.FailureVerify, "the storage gave back other bytes than were written", nil)
	}
	return nil
}
