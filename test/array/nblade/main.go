// Command nblade is the network side of one node of the array: it ends the TCP
// connections of clients on the LIFs and sends every call to the node that owns
// the volume, whose NFS-Ganesha answers it, be that this node or one behind the
// cluster link.
//
// It reads the head of each call and reply: enough to count reads, writes and
// other operations of NFSv3, their bytes, and the time between the call and its
// reply. Of NFSv4 it counts a READ or WRITE that follows only SEQUENCE and PUTFH
// in its COMPOUND; every other COMPOUND is one other operation. MOUNT and NULL
// are not counted. The state of an NFSv4 client lives in one NFS-Ganesha, so all
// of NFSv4 goes to the owner of the first volume, and a move of that volume is a
// restart of the server in the eyes of such a client.
//
// Orders and counters: see package control.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nfsbench/nfsbench/test/array/control"
)

func main() {
	file := flag.String("settings", "", "JSON file with the settings")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "nblade:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT) //nolint:usetesting // not a test
	defer stop()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s control.Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read settings %s: %w", file, err)
	}
	b, err := newBlade(s, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return b.run(ctx, s.Listen, s.Socket)
}
