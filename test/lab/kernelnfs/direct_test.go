package kernelnfs

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkDirect looks at our own client on the kernel's server.
func checkDirect(t *testing.T, g guest) {
	t.Helper()
	for _, pattern := range []string{"read", "overwrite", "randread", "copy"} {
		t.Run("our client, "+pattern, func(t *testing.T) {
			s := g.succeeded(t, "direct-"+pattern)
			load := checkLoad(t, g.result(t, s.name))
			rep := load.Repetitions[0]
			if reads := pattern != "overwrite"; (rep.Read != nil && rep.Read.Bytes > 0) != reads {
				t.Errorf("reads: %+v", rep.Read)
			}
			if writes := pattern == "overwrite" || pattern == "copy"; (rep.Write != nil && rep.Write.Bytes > 0) != writes {
				t.Errorf("writes: %+v", rep.Write)
			}
			checkChannels(t, rep)
			checkDirectJudgement(t, g, s.name)
		})
	}
	t.Run("our client's files hold what was written", func(t *testing.T) { checkFiles(t, g, "direct-check", fileBytes) })
	for _, version := range []bench.NFSVersion{bench.NFSv40, bench.NFSv41, bench.PNFS} {
		t.Run("our client, "+string(version), func(t *testing.T) { checkSpoken(t, g, version) })
	}
	t.Run("our client, pNFS where blocks are offered", func(t *testing.T) { checkBlocks(t, g) })
	t.Run("our client's tests pass", func(t *testing.T) {
		checkConformance(t, g, "direct-conformance")
		checkForgotten(t, g, "direct-conformance-after")
	})
}

func checkChannels(t *testing.T, rep runfile.Repetition) {
	t.Helper()
	if len(rep.Channels) != 2 {
		t.Errorf("%d channels, want 2", len(rep.Channels))
	}
	for _, ch := range rep.Channels {
		if ch.State != "Up" || ch.BytesRead+ch.BytesWritten == 0 {
			t.Errorf("a channel carried nothing or is down: %+v", ch)
		}
	}
}

func checkDirectJudgement(t *testing.T, g guest, name string) {
	t.Helper()
	var j judge.Judgement
	if err := json.Unmarshal(g.report(t, name), &j); err != nil {
		t.Fatal(err)
	}
	if v := j.Protocol.Verified; v == nil || !*v || j.Protocol.Mismatch {
		t.Errorf("protocol: %+v", j.Protocol)
	}
}

// checkRestarts looks at runs of our client whose server lost its power: what
// was not committed is gone from its disk, and it comes back with another write
// verifier.
func checkRestarts(t *testing.T, g guest) {
	t.Helper()
	t.Run("a server that dies while files are filled costs nothing", func(t *testing.T) {
		s := g.succeeded(t, "restart-fill")
		if !strings.Contains(s.stderr, "Server restarted and lost data before they were committed") {
			t.Errorf("our client saw no other write verifier:\n%s", s.stderr)
		}
		checkDeath(t, g, "restart-fill", runfile.SpanFill)
		load := checkLoad(t, g.result(t, "restart-fill"))
		if load.FilledBytes != jobs*bigFile {
			t.Errorf("filled %d bytes", load.FilledBytes)
		}
		before, after := sizes(t, g, "restart-fill/files-before"), sizes(t, g, "restart-fill/files-after")
		t.Logf("bytes in files when the server died: %d; on the disk when it came back: %d", before, after)
		if before == 0 || before >= jobs*bigFile {
			t.Errorf("the server died when %d bytes were filled, not in the middle", before)
		}
		checkFiles(t, g, "restart-fill-check", bigFile)
	})
	t.Run("a server that dies while files are overwritten costs nothing", func(t *testing.T) {
		g.succeeded(t, "restart-overwrite")
		checkDeath(t, g, "restart-overwrite", runfile.SpanMeasure)
		rep := checkLoad(t, g.result(t, "restart-overwrite")).Repetitions[0]
		reconnects := int64(0)
		for _, ch := range rep.Channels {
			reconnects += ch.Reconnects
		}
		if reconnects == 0 {
			t.Errorf("no channel was connected again: %+v", rep.Channels)
		}
		checkFiles(t, g, "restart-overwrite-check", fileBytes)
	})
}

// checkDeath wants that the server really died, and in that span.
func checkDeath(t *testing.T, g guest, name, span string) {
	t.Helper()
	if code := strings.TrimSpace(string(g.files[name+"/server-code"])); code != "0" {
		t.Errorf("killing the server ended with %q: %s", code, g.files[name+"/server"])
	}
	lines := strings.Split(strings.TrimSpace(string(g.files[name+"/events-before"])), "\n")
	var last runfile.Event
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Span != span {
		t.Errorf("the last event before the server was back is %q, %v; want span %s", lines[len(lines)-1], err, span)
	}
}

// sizes adds up the sizes in the output of ls -ln.
func sizes(t *testing.T, g guest, file string) int64 {
	t.Helper()
	sum := int64(0)
	for line := range strings.Lines(string(g.files[file])) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasSuffix(fields[8], ".dat") {
			continue
		}
		n, err := strconv.ParseInt(fields[4], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		sum += n
	}
	return sum
}
