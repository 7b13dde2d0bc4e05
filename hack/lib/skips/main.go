// Command skips reads the event stream of go test -json and prints each test
// that was skipped, with what it said of the reason.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

type testEvent struct {
	Action, Package, Test, Output string
}

func main() {
	if err := print(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

func print(w io.Writer, r io.Reader) error {
	said := map[string]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e testEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			if text := strings.TrimSpace(e.Output); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
				said[key] = text
			}
		case "skip":
			if _, err := fmt.Fprintf(w, "  %s: %s\n", key, said[key]); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}
