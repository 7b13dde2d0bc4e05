// Command netpour pours bytes through TCP connections and says how fast that
// went. The lab's scripts use it to see what a shaped link or pod lets through.
//
//	netpour serve ADDRESS          accept connections and discard what comes
//	netpour send ADDRESS BYTES     send that many bytes, print Mbit/s
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "netpour:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 3 && args[0] == "send":
		size, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			return fmt.Errorf("bytes %q: %w", args[2], err)
		}
		return send(args[1], size)
	default:
		return errors.New("usage: netpour serve ADDRESS | send ADDRESS BYTES")
	}
}

// serve discards what each client sends and then acknowledges with one byte: a client's
// clock stops when the last byte has arrived, not when it has left.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if _, err := io.Copy(io.Discard, conn); err == nil {
				_, _ = conn.Write([]byte{1})
			}
		}()
	}
}

func send(address string, size int64) error {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("connection to %s is no TCP connection", address)
	}

	began := time.Now() //nolint:forbidigo // a program of its own, like those below cmd
	block := make([]byte, 1<<20)
	for left := size; left > 0; left -= int64(len(block)) {
		if left < int64(len(block)) {
			block = block[:left]
		}
		if _, err := tcp.Write(block); err != nil {
			return err
		}
	}
	if err := tcp.CloseWrite(); err != nil {
		return err
	}
	if _, err := io.ReadFull(tcp, block[:1]); err != nil { // the other side has read all
		return err
	}
	took := time.Since(began) //nolint:forbidigo // as above
	_, err = fmt.Fprintf(os.Stdout, "%.1f Mbit/s\n", float64(size)*8/1e6/took.Seconds())
	return err
}
