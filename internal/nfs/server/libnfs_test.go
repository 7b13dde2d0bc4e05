package server_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libnfs is a client that shares nothing with this project.
type libnfs struct {
	t    *testing.T
	port string
}

// needLibnfs skips the test where the tools are not installed.
func needLibnfs(t *testing.T, s *running) libnfs {
	t.Helper()
	for _, tool := range []string{"nfs-ls", "nfs-cp", "nfs-cat"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian package libnfs-utils)", tool)
		}
	}
	return libnfs{t: t, port: port(s.Addrs()[0])}
}

func (l libnfs) url(path string) string {
	q := url.Values{"version": {"3"}, "nfsport": {l.port}, "mountport": {l.port}}
	return "nfs://127.0.0.1/export" + path + "?" + q.Encode()
}

func (l libnfs) run(tool string, args ...string) []byte {
	l.t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(l.t.Context(), tool, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		l.t.Fatalf("%s %v: %v\n%s", tool, args, err, errOut.String())
	}
	return out.Bytes()
}

func TestLibnfsCopiesAFileInAndOut(t *testing.T) {
	s := start(t)
	l := needLibnfs(t, s)
	want := random(5<<20 + 3)
	local := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(local, want, 0o600); err != nil {
		t.Fatal(err)
	}
	c := mounted(t, s.Addrs()[1])
	c.mkdir(c.root, "sub")
	l.run("nfs-cp", local, l.url("/sub/data"))
	if got := l.run("nfs-cat", l.url("/sub/data")); !bytes.Equal(got, want) {
		t.Errorf("read back %d bytes that differ from the %d written", len(got), len(want))
	}
	stored, err := os.ReadFile(filepath.Join(s.dir, "sub", "data"))
	if err != nil || !bytes.Equal(stored, want) {
		t.Errorf("the directory holds %d bytes: %v", len(stored), err)
	}
	list := string(l.run("nfs-ls", l.url("/sub")))
	if !strings.Contains(list, "5242883") || !strings.Contains(list, "data") {
		t.Errorf("listing:\n%s", list)
	}
}
