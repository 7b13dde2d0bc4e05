package direct_test

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func from(name, path string) func(*runfile.Engine) {
	return func(e *runfile.Engine) { e.Channels = []bench.ResolvedPath{{LocalInterface: name, Path: path}} }
}

func TestAPathStartsFromTheAddressOfItsInterface(t *testing.T) {
	for _, path := range []string{"127.0.0.1", "localhost", "::1"} {
		where := "127.0.0.1:0"
		if path == "::1" {
			where = "[::1]:0"
		}
		port, _ := serveAt(t, where)
		plan := options(port, from("lo", path))
		tgt, err := direct.Open(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tgt.Close() }()
		want := strings.Replace(path, "localhost", "127.0.0.1", 1)
		if got := tgt.Channels()[0].Local; got != want {
			t.Errorf("the path to %s starts from %q, want %q", path, got, want)
		}
		if plan.Engine.Channels[0].Local != "" {
			t.Error("the plan of the run changed: each client has an address of its own")
		}
	}
}

func TestAnInterfaceThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	_, err := direct.Open(t.Context(), options(1, from("net7", "127.0.0.1")))
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range []string{"path 127.0.0.1", "net7", "this client has lo", "pods.annotations", "localInterface"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
}
