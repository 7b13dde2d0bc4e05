package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// HeartbeatFile on a volume names the benchmark that runs a database there. The benchmark changes the file as long as
// it runs. Others detect the changes, without comparing clocks, and so know that the volume is in use.
const HeartbeatFile = ".nfsbench-heartbeat"

const (
	heartbeatInterval = 10 * time.Second
	// heartbeatsMissed is the number of intervals without a change after which a database counts as dead. A write may
	// wait for longer than a minute when a server was away.
	heartbeatsMissed = 9
	maxHeartbeat     = 1024 // bytes of the file that are read
)

// holdVolume waits until no other database uses the volume, and writes the heartbeat until
// release is called. The context that it returns also ends when another database takes the
// volume, with an error of runfile.FailureVolumeInUse as its cause.
func (o Options) holdVolume(ctx context.Context) (held context.Context, release func(), err error) {
	if err := o.takeVolume(ctx); err != nil {
		return ctx, nil, err
	}
	held, cancel := context.WithCancelCause(ctx)
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := o.beat(beating); err != nil {
			cancel(err)
		}
	}()
	return held, func() {
		stop()
		bounded, end := context.WithTimeout(context.WithoutCancel(ctx), heartbeatInterval)
		defer end()
		select { // a write waits until the server is back
		case <-done:
		case <-bounded.Done():
		}
		cancel(nil)
		if owner, _ := o.readHeartbeat(); owner == o.Owner {
			_ = shareddir.Remove(o.DataDirectory, HeartbeatFile) // others find out that a remaining file is dead
		}
	}, nil
}

// beat writes the heartbeat until ctx ends, or returns the error that another database
// has taken the volume.
func (o Options) beat(ctx context.Context) error {
	for n := 1; runloop.Wait(ctx, o.heartbeat()) == nil; n++ {
		if owner, _ := o.readHeartbeat(); owner != "" && owner != o.Owner {
			return o.inUse(owner)
		}
		if err := o.writeHeartbeat(n, 0); err != nil {
			o.Log.Warn("The heartbeat on the volume was not written", "error", err)
		}
	}
	return nil
}

func (o Options) heartbeat() time.Duration { return cmp.Or(o.HeartbeatInterval, heartbeatInterval) }

func (o Options) inUse(owner string) error {
	return oracle.Failf(runfile.FailureVolumeInUse,
		"benchmark %q runs a database on the volume at %s, and two databases would ruin its files: stop that one, which may "+
			"be in another cluster, or use another volume", owner, o.DataDirectory)
}

// takeVolume writes the first heartbeat if no other database writes one. It returns an error if another does, or if
// ctx ends before that is known.
func (o Options) takeVolume(ctx context.Context) error {
	owner, first := o.readHeartbeat()
	flags := os.O_EXCL // if two find no file, only one creates it
	if owner != "" && owner != o.Owner {
		o.Log.Info("Looking whether another database uses the volume", "owner", owner)
		if err := o.awaitDeath(ctx, first); err != nil {
			return err
		}
	}
	if first != "" {
		flags = 0 // the file is from an earlier container of this benchmark, or from a dead one
	}
	err := o.writeHeartbeat(0, flags)
	if errors.Is(err, fs.ErrExist) {
		if owner, _ = o.readHeartbeat(); owner != "" {
			return o.inUse(owner)
		}
	}
	if err != nil {
		return oracle.Failf(runfile.FailureAccessDenied, "the heartbeat %s cannot be written to the volume at %s (%v): if "+
			"it is no plain file, or has a second name, remove it", HeartbeatFile, o.DataDirectory, err)
	}
	return nil
}

// awaitDeath returns nil if the heartbeat does not change, and an error if it does.
func (o Options) awaitDeath(ctx context.Context, first string) error {
	for range heartbeatsMissed {
		if err := runloop.Wait(ctx, o.heartbeat()); err != nil {
			return err
		}
		if now, text := o.readHeartbeat(); now != "" && text != first {
			return o.inUse(now)
		}
	}
	return nil
}

// writeHeartbeat overwrites the file in place with a text of equal length, so that a reader sees the old or the new
// text.
func (o Options) writeHeartbeat(n, flags int) error {
	f, err := shareddir.OpenOnly(o.DataDirectory, HeartbeatFile, flags|os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n%020d\n", o.Owner, n)
	_, err = f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Truncate(int64(len(text))), f.Sync(), f.Close())
}

// readHeartbeat returns the owner in the heartbeat and its whole text; empty if there is none. The file may be a
// stranger's: it reads only a plain file, to a bounded size, and shows unprintable characters as question marks.
func (o Options) readHeartbeat() (owner, text string) {
	raw, err := shareddir.ReadStart(o.DataDirectory, HeartbeatFile, maxHeartbeat)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			o.Log.Warn("The heartbeat on the volume was not read", "error", err)
		}
		return "", ""
	}
	owner, _, _ = strings.Cut(string(raw), "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, owner), string(raw)
}
