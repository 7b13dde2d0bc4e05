package kernelnfs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkSpoken looks at our client over a version of NFSv4 on the kernel's server, over two
// addresses: at what it did, at what it says of the server, and at what the server says of it.
func checkSpoken(t *testing.T, g guest, version bench.NFSVersion) {
	t.Helper()
	name := "direct-" + strings.TrimPrefix(string(version), "NFSv")
	rep := checkCopy(t, g, name)
	if version == bench.PNFS {
		checkMismatch(t, g, name)
	} else {
		checkDirectJudgement(t, g, name)
	}
	s := rep.Servers[0]
	if s.LayoutType != "" || s.LayoutsGranted != 0 {
		t.Errorf("an ext4 offers layouts: %+v", s)
	}
	if all := rep.Read.Count + rep.Write.Count; version == bench.PNFS && s.LayoutFallbacks < all {
		t.Errorf("%d I/Os of %d went through the metadata server, want all", s.LayoutFallbacks, all)
	}
	checkKnown(t, g, name, version)
}

// checkBlocks looks at our client where the server offers a layout that it does not speak.
func checkBlocks(t *testing.T, g guest) {
	t.Helper()
	rep := checkCopy(t, g, "direct-blocks")
	s := rep.Servers[0]
	if s.LayoutType != "blocks" || s.LayoutsGranted != 0 || s.LayoutFallbacks < rep.Read.Count+rep.Write.Count {
		t.Errorf("server %+v, want blocks offered, none taken, and all I/O through the server", s)
	}
	checkKnown(t, g, "direct-blocks", bench.PNFS)
	j := checkMismatch(t, g, "direct-blocks")
	if !slices.ContainsFunc(j.Findings, func(f bench.Finding) bool { return f.Code == judge.LayoutTypeUnsupported }) {
		t.Errorf("no finding tells that the layout type is not spoken: %+v", j.Findings)
	}
}

// checkMismatch wants it told that pNFS was declared and no layout used.
func checkMismatch(t *testing.T, g guest, name string) judge.Judgement {
	t.Helper()
	var j judge.Judgement
	if err := json.Unmarshal(g.report(t, name), &j); err != nil {
		t.Fatal(err)
	}
	if !j.Protocol.Mismatch || !strings.Contains(j.Protocol.Message, "used no layout") {
		t.Errorf("protocol: %+v", j.Protocol)
	}
	return j
}

// checkCopy looks at a run that copied, over both addresses of one server.
func checkCopy(t *testing.T, g guest, name string) runfile.Repetition {
	t.Helper()
	g.succeeded(t, name)
	rep := checkLoad(t, g.result(t, name)).Repetitions[0]
	if rep.Read == nil || rep.Write == nil || rep.Read.Bytes == 0 || rep.Write.Bytes == 0 {
		t.Fatalf("reads %+v, writes %+v", rep.Read, rep.Write)
	}
	checkChannels(t, rep)
	checkFiles(t, g, name+"-check", fileBytes)
	if len(rep.Servers) != 1 {
		t.Fatalf("two addresses of one server are the servers %+v", rep.Servers)
	}
	s := rep.Servers[0]
	t.Logf("%+v", s)
	if !slices.Equal(s.Addresses, []string{"127.0.0.1", "127.0.0.2"}) || s.Recoveries != 0 || s.LeaseSeconds == 0 {
		t.Errorf("server %+v, want both addresses and nothing recovered", s)
	}
	if s.NFSVersion == string(bench.NFSv41) && (s.Trunking != bench.TrunkingSession || s.Owner == "" || s.Slots == 0) {
		t.Errorf("server %+v, want one session over both addresses", s)
	}
	return rep
}

// checkKnown compares what the server knew of our client: during the run a client ID of the
// version with files open, and afterwards nothing.
func checkKnown(t *testing.T, g guest, name string, version bench.NFSVersion) {
	t.Helper()
	during := string(g.files[name+"-during/known"])
	minor := "minor version: 1"
	if version == bench.NFSv40 {
		minor = "minor version: 0"
	}
	if !strings.Contains(during, minor) || !strings.Contains(during, "type: open") {
		t.Errorf("the server did not know of a client with %s that has a file open: %q", minor, during)
	}
	checkForgotten(t, g, name+"-after")
}

// checkForgotten wants that the server keeps nothing for our clients: no state at all, and no
// client ID where the protocol has a means to give it back.
func checkForgotten(t *testing.T, g guest, name string) {
	t.Helper()
	known, ok := g.files[name+"/known"]
	if !ok {
		t.Fatalf("the guest did not look at what the server keeps: no %s", name)
	}
	if text := string(known); strings.Contains(text, "type:") || strings.Contains(text, "minor version: 1") {
		t.Errorf("after Close the server still keeps for our client:\n%s", text)
	}
}
