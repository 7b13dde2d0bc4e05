package nfs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server"
)

// TestMain gives the server in this process processors of its own beside the threads of
// a stream, which wait in system calls. With two processors the scheduler takes
// milliseconds to notice that, for each I/O.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serveParent(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveVariable names the directory that this process is to serve for the process of a test.
const serveVariable = "NFSBENCH_TEST_SERVE"

// serveParent tells its address and serves until standard input ends.
func serveParent(dir string) error {
	s, err := server.New(server.Options{Dir: dir, Listen: []string{"0.0.0.0:0"}, MaxTransferBytes: 64 << 10, Now: time.Now})
	if err != nil {
		return err
	}
	fmt.Println(s.Addrs()[0])
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return s.Serve(ctx)
}

// mountElsewhere mounts an export of another process, whose allocations are not counted with
// ours, over two paths. It has the file "data" of 1 MiB.
func mountElsewhere(tb testing.TB) (*Client, FileHandle) {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), make([]byte, 1<<20), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), serveVariable+"="+dir), tb.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // killed with the context of the test, perhaps
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]))
	if err != nil {
		tb.Fatal(err)
	}
	c, err := Dial(tb.Context(), Config{
		Export: "/export", NFSPort: port, MountPort: port, Now: time.Now, CallTimeout: time.Hour, MountTimeout: time.Hour,
		Channels: []Channel{{Path: "127.0.0.1"}, {Path: "127.0.0.2"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	handle, err := c.Lookup(tb.Context(), c.Root(), "data")
	if err != nil {
		tb.Fatal(err)
	}
	return c, handle
}
