// Command cnibandwidth stands in front of the CNI plugin "bandwidth" and gives
// it a sensible burst.
//
// containerd hands the rate of the kubernetes.io/ingress-bandwidth annotation
// on with a burst of 2^32-1 bits. A token bucket of that size lets the first
// 512 MiB pass unshaped, more than most tests send. Here a burst is what the
// rate yields in a hundredth of a second, but at least 64 KiB.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	plugin       = "bandwidth"
	minBurstBits = 64 * 1024 * 8
)

func main() {
	err := run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		// The plugin has already said on standard output what is wrong.
		os.Exit(exit.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "cnibandwidth:", err)
		os.Exit(1)
	}
}

func run() error {
	conf, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	conf, err = withBurst(conf)
	if err != nil {
		return err
	}
	path, err := find(os.Getenv("CNI_PATH"))
	if err != nil {
		return err
	}
	cmd := exec.Command(path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(conf), os.Stdout, os.Stderr
	return cmd.Run()
}

// withBurst returns the network configuration with bursts that fit its rates.
// All other members stay what they are.
func withBurst(conf []byte) ([]byte, error) {
	var net map[string]any
	decoder := json.NewDecoder(bytes.NewReader(conf))
	decoder.UseNumber()
	if err := decoder.Decode(&net); err != nil {
		return nil, fmt.Errorf("network configuration: %w", err)
	}
	runtimeConfig, _ := net["runtimeConfig"].(map[string]any)
	limits, _ := runtimeConfig["bandwidth"].(map[string]any)
	for key, value := range limits {
		direction, isRate := cutSuffixFold(key, "Rate")
		rate, isNumber := value.(json.Number)
		if !isRate || !isNumber {
			continue
		}
		bitsPerSecond, err := rate.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if bitsPerSecond > 0 {
			limits[direction+"Burst"] = max(bitsPerSecond/100, minBurstBits)
		}
	}
	return json.Marshal(net)
}

// cutSuffixFold is strings.CutSuffix without regard to case: containerd writes
// IngressRate where the plugin documents ingressRate.
func cutSuffixFold(s, suffix string) (string, bool) {
	at := len(s) - len(suffix)
	if at < 0 || !strings.EqualFold(s[at:], suffix) {
		return s, false
	}
	return s[:at], true
}

// find returns the real plugin from the list of folders that CNI prescribes.
func find(folders string) (string, error) {
	for _, folder := range filepath.SplitList(folders) {
		path := filepath.Join(folder, plugin)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("no plugin %q in %q", plugin, folders)
}
