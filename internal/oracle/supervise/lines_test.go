package supervise

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestWhatIsKeptOfALineIsShortAndPrintable(t *testing.T) {
	long := strings.Repeat("x", keptBytes)
	for _, c := range []struct{ reason, line, want string }{
		{"as long as it may be", long, long},
		{"longer", long + "y", long + "..."},
		{"cut within a character", long[1:] + "µ", long[1:] + "..."},
		{"control characters", "a\tb\x1b[31m\x7fc", "a b [31m c"},
		{"no text", "a\xff", "a?"},
	} {
		if got := clip(c.line); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
	if keptBytes != 300 {
		t.Errorf("%d bytes of a line are kept: a status holds 12 of them in 4 KiB", keptBytes)
	}
}

func TestAnAlertThatIsWrittenIsNoTrouble(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	j, err := openJournal(dir, runfile.DatabaseState{})
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{log: slog.New(slog.NewTextHandler(&log, nil)), journal: j}
	s.alert("Direct NFS: channel id [0] path [10.0.1.61] to filer [ontap] is DOWN")
	if text := log.String(); strings.Contains(text, "level=WARN") || !strings.Contains(text, "level=INFO") {
		t.Errorf("the log of a line that was written:\n%s", text)
	}
	log.Reset()
	j.dir = dir + "/gone"
	s.alert("Direct NFS: channel id [1] path [10.0.1.62] to filer [ontap] is DOWN")
	if text := log.String(); !strings.Contains(text, "level=WARN") {
		t.Errorf("the log of a line that could not be written:\n%s", text)
	}
}
