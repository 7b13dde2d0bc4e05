package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed runs two clients of
// an image whose second client has such a clock.
func TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed(t *testing.T) {
	p := newPlot(t, 1)
	needNodeHere(t, p.cluster)
	// In a short window, the half second by which busy clients begin apart is a finding.
	b := p.run(t, gen.Clients(2), lasting(15), image(buildSkewed(t)))
	done := p.undisturbed(t, b)

	found := finding(done, string(judge.ClockSkew))
	if found == nil {
		t.Fatalf("no finding %s: %+v", judge.ClockSkew, done.Status.Findings)
	}
	mustSay(t, found.Message, "Client 1", "ahead of that of the API server", "start by a signal")
	if apart := finding(done, string(judge.ClientsNotTogether)); apart != nil {
		t.Errorf("clients that ran together are told apart: %s", apart.Message)
	}
	x, y := window(t, p.results(t, done)[0]), window(t, p.results(t, done)[1])
	if d := y.Start.Sub(x.Start); (d - time.Minute).Abs() > 5*time.Second {
		t.Errorf("the clocks of the clients differ by about %v, not by a minute: nothing was tested", d)
	}
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Error(state(done))
	}
}

// buildSkewed makes the image and loads it into the cluster.
func buildSkewed(t *testing.T) string {
	t.Helper()
	hack := filepath.Join("..", "..", "hack")
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join(hack, "image", "build.sh"), "-o", folder, "nfsbench=./cmd/nfsbench")
	build.Env = append(os.Environ(), "GOFLAGS=-tags=clockskew", "TAG=skewed", "IMAGE_PREFIX=nfsbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the image: %v\n%s", err, out)
	}
	load := exec.CommandContext(t.Context(), filepath.Join(hack, "cluster", "load.sh"), filepath.Join(folder, "nfsbench.tar"))
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("load the image: %v\n%s", err, strings.TrimSpace(string(out)))
	}
	return "docker.io/nfsbench/nfsbench:skewed"
}
