package ontap_test

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

const beServer = "NFSBENCH_TEST_BE_ONTAP"

// serveAnArray is what TestMeasureASample does as its own child: the array is in another
// process, so that its work is not counted as ours.
func serveAnArray(t *testing.T) {
	t.Helper()
	a := newArray(t)
	var nodes, lifs []string
	for i := range 8 { // a large cluster
		nodes = append(nodes, nodeJSON(fmt.Sprintf("naclu1-%02d", i), 1<<40, 1<<42))
		lifs = append(lifs, lifJSON(fmt.Sprintf("lif_%02d", i), fmt.Sprintf("10.0.1.%d", i), "a", "a"))
	}
	a.say("/api/cluster/nodes", 200, records(nodes...))
	a.say("/api/network/ip/interfaces", 200, records(lifs...))
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	_ = json.NewEncoder(os.Stdout).Encode([]string{a.URL, string(cert)})
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent ends
}

func startServer(tb testing.TB) *ontap.Source {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^TestMeasureASample$")
	cmd.Env = append(os.Environ(), beServer+"=1")
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
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var where []string
	if err == nil {
		err = json.Unmarshal(line, &where)
	}
	if err != nil || len(where) != 2 {
		tb.Fatalf("the child says %q: %v", line, err)
	}
	s, err := ontap.New(runfile.Source{URL: where[0], CABundle: where[1], SVM: "svm1", Volume: "vol1"}, rest.Credentials{Username: user, Password: pass}, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// cpu is what this process has used.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestMeasureASample(t *testing.T) {
	t.Parallel()
	if os.Getenv(beServer) != "" {
		serveAnArray(t)
		return
	}
	s := startServer(t)
	if _, err := s.Sample(t.Context()); err != nil { // connects
		t.Fatal(err)
	}
	// The limit of requests makes more of them slow.
	const rounds, samples = 3, 6
	var cost []float64 // % of one core at one sample each second
	for range rounds {
		before := cpu(t)
		for range samples {
			if _, err := s.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cost = append(cost, (cpu(t)-before).Seconds()/samples*100)
	}
	measure.Expect(t, "a sample of 8 nodes and 8 LIFs each second", "% of a core", measure.AtMost(1), cost...)
}
