package e2e

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func ownAddress(address string) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.String() == address {
			return true
		}
	}
	return false
}

// needNodeHere skips a test that looks at the node itself where the node is
// another machine, or a container as with kind.
func needNodeHere(t *testing.T, c *cluster) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := c.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 1 || !isHere(nodes.Items[0]) || os.Geteuid() != 0 {
		t.Skip("needs root and a cluster whose one node is this machine: `CLUSTER=local make test`")
	}
}

// processes finds the processes of a pod that run a subcommand of nfsbench. The
// pod's UID in their cgroup tells that they are its.
func processes(t *testing.T, p corev1.Pod, subcommand string) []int {
	t.Helper()
	return processesOf(t, p, "/nfsbench\x00"+subcommand+"\x00")
}

// processesOf finds the processes of a pod by how their command line begins.
func processesOf(t *testing.T, p corev1.Pod, command string) []int {
	t.Helper()
	var found []int
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	uid := string(p.UID)
	for _, dir := range entries {
		cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		// With systemd as the cgroup driver the UID has underscores.
		if err != nil || !strings.Contains(strings.ReplaceAll(string(cgroup), "_", "-"), uid) {
			continue // one that has ended, or another's
		}
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.HasPrefix(args, []byte(command)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// files lists what is below a folder, to compare and to show.
func files(t *testing.T, dir string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return nil // what is removed while we look is not there
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
