package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// command runs a program to its end.
func command(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// commands runs a program for each line. Its words are the program and its arguments.
func commands(ctx context.Context, lines ...string) error {
	for _, l := range lines {
		if err := command(ctx, strings.Fields(l)...); err != nil {
			return err
		}
	}
	return nil
}

// removeNetns ends the processes that a killed rig left in a network namespace, and removes it.
// There may be none.
func removeNetns(name string) error {
	if _, err := os.Stat(filepath.Join("/run/netns", name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	out, err := exec.Command("ip", "netns", "pids", name).Output()
	errs := []error{err}
	for word := range strings.FieldsSeq(string(out)) {
		pid, err := strconv.Atoi(word)
		if err == nil && pid != os.Getpid() { // this process's first thread may have been there; see inside
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !errors.Is(err, syscall.ESRCH) { // it has ended by itself
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, command(context.Background(), "ip", "netns", "del", name))...)
}

// inside runs a function on a thread in a network namespace. Sockets that the function opens stay there.
func inside(netns string, do func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so it ends with the goroutine.
		runtime.LockOSThread()
		f, err := os.Open(filepath.Join("/run/netns", netns))
		if err != nil {
			done <- err
			return
		}
		err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		if err = errors.Join(err, f.Close()); err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// listenIn listens in a network namespace.
func listenIn(netns, address string) (l net.Listener, err error) {
	err = inside(netns, func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

// dialIn connects in a network namespace.
func dialIn(netns, address string) (c net.Conn, err error) {
	err = inside(netns, func() error {
		to, err := net.ResolveTCPAddr("tcp4", address) // a numeric address: no lookup
		if err != nil {
			return err
		}
		c, err = net.DialTCP("tcp4", nil, to)
		return err
	})
	return c, err
}
