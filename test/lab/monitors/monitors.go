// Package monitors starts the Prometheus and the node_exporter of Debian for tests, so that
// formats and interfaces are held against the real ones.
package monitors

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/ports"
)

// Folder is the variable that names where the programs are; hack/test.sh sets it to what
// hack/lab/monitors.sh prints. Without it they are looked for on the PATH.
const Folder = "NFSBENCH_MONITORS"

// Program is a program that runs until the test ends.
type Program struct {
	// URL is where it answers, such as http://127.0.0.1:12345.
	URL  string
	path string
	args []string
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// NodeExporter starts a node_exporter with some collectors, whose /proc is procfs. It skips
// the test where there is none.
func NodeExporter(t *testing.T, procfs string, collectors ...string) *Program {
	t.Helper()
	address := ports.Reserve(t).String()
	flags := []string{
		"--web.listen-address=" + address, "--path.procfs=" + procfs, "--path.sysfs=" + t.TempDir(),
		"--log.level=error", "--collector.disable-defaults",
	}
	for _, c := range collectors {
		flags = append(flags, "--collector."+c)
	}
	return run(t, "prometheus-node-exporter", address, "/", flags...)
}

// Prometheus starts a Prometheus with a configuration. It skips the test where there is none.
func Prometheus(t *testing.T, config string) *Program {
	t.Helper()
	dir, address := t.TempDir(), ports.Reserve(t).String()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, "prometheus", address, "/-/ready", "--web.listen-address="+address, "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--log.level=error")
}

func run(t *testing.T, name, address, ready string, args ...string) *Program {
	t.Helper()
	path := filepath.Join(os.Getenv(Folder), name)
	if os.Getenv(Folder) == "" {
		var err error
		if path, err = exec.LookPath(name); err != nil {
			t.Skipf("%s is not here: set %s to what hack/lab/monitors.sh prints", name, Folder)
		}
	}
	p := &Program{URL: "http://" + address, path: path, args: args}
	t.Cleanup(func() { p.End(t) })
	p.Start(t)
	deadline, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	for {
		req, err := http.NewRequestWithContext(deadline, http.MethodGet, p.URL+ready, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return p
			}
		}
		select {
		case <-p.gone:
			t.Fatalf("%s ended; what it said is above", name)
		case <-deadline.Done():
			t.Fatalf("%s does not answer: %v", name, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Start starts the program again after End. It does not wait until it answers.
func (p *Program) Start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.path, p.args...) //nolint:gosec // a program that whoever runs the tests chose
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.gone = make(chan struct{})
	go func(cmd *exec.Cmd, gone chan struct{}) {
		_ = cmd.Wait() // how it ended is in what it said
		close(gone)
	}(p.cmd, p.gone)
}

// End ends the program and waits for it.
func (p *Program) End(t *testing.T) {
	t.Helper()
	if p.gone == nil { // it was not even started
		return
	}
	_ = p.cmd.Process.Kill() // what it wrote goes with the folder of the test
	<-p.gone
}
