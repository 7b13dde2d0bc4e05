package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// burn keeps a CPU busy for a share of the time, in pulses, until the context ends. It stands for
// another process of this machine.
func burn(ctx context.Context, share float64) error {
	// It ends with the rig, even if that is killed.
	script := fmt.Sprintf("while kill -0 %d; do timeout --foreground %.3f sh -c 'while :; do :; done'; sleep %.3f; done",
		os.Getpid(), share, 1-share)
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return unlessEnded(ctx, cmd.Run())
}

// unlessEnded drops the error of a call that ended because its context did.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// machineNoise is shared by all lanes with noise, because there is only one machine.
type machineNoise struct {
	mu   sync.Mutex
	runs int
	stop context.CancelFunc
	done chan struct{}
}

// noiseShare of one CPU is less than ForeignLoad reports, also with what the load uses.
const noiseShare = 0.2

// during makes noise, if wanted, until the caller calls end.
func (m *machineNoise) during(wanted bool) (end func()) {
	if !wanted {
		return func() {}
	}
	m.enter()
	return m.leave
}

// on reports whether there is noise.
func (m *machineNoise) on() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs > 0
}

func (m *machineNoise) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs++; m.runs > 1 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	m.stop, m.done = stop, done
	go func() {
		defer close(done)
		_ = burn(ctx, noiseShare) // without the noise the run is merely quiet
	}()
}

func (m *machineNoise) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs--; m.runs == 0 {
		m.stop()
		<-m.done
	}
}

// noise is what an honest run must tolerate: another process of the machine works in pulses,
// another link carries data, and the link of the run jitters by 2 %.
func (l *Lane) noise(ctx context.Context, _ *Process) (err error) {
	l.rig.noise.enter()
	defer l.rig.noise.leave()
	listener, err := listenIn(l.router, l.subnet(238, 3)+".1:5001")
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	defer func() { _ = listener.Close() }()
	wait.Go(func() {
		if c, err := listener.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, c) // ends when the other end closes
			_ = c.Close()
		}
	})
	c, err := dialIn(l.other, listener.Addr().String())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	defer func() { err = errors.Join(err, l.setRate(context.WithoutCancel(ctx), 0, 1)) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	block := make([]byte, 25_000) // 10 Mbit/s
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := c.Write(block); err != nil {
			return err
		}
		if i%100 == 0 {
			if err := l.setRate(ctx, 0, 0.98+0.02*rand.Float64()); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
