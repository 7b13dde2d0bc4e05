// Command measurements makes the dated record of `hack/test.sh measure`: what was measured
// on which machine, by part, in Markdown.
//
// usage: measurements FILE...
//
// Each FILE is named PART.amounts and holds the lines of test/kit/measure.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measurements:", err)
		os.Exit(1)
	}
}

func run(files []string, w io.Writer) error {
	var body bytes.Buffer
	for _, file := range files { // the shell sorts them
		if err := part(file, &body); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	now := time.Now().UTC()
	if _, err := fmt.Fprintf(w, "# Measurements of %s\n\n%s.\n", now.Format("2006-01-02 15:04 UTC"), machine()); err != nil {
		return err
	}
	_, err := body.WriteTo(w)
	return err
}

// machine describes what the amounts depend on.
func machine() string {
	facts := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				facts = append(facts, strings.TrimSpace(value))
				break
			}
		}
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		facts = append(facts, "kernel "+strings.TrimSpace(string(kernel)))
	}
	if commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		facts = append(facts, "commit "+strings.TrimSpace(string(commit)))
	}
	return strings.Join(facts, ", ")
}

// amount is a line of a test.
type amount struct {
	Test, What, Unit        string
	N                       int
	Median, Lowest, Highest float64
	Outcome, Wanted         string
	Holds                   *bool
}

func part(file string, w io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	fmt.Fprintf(w, "\n## %s\n\n", strings.TrimSuffix(filepath.Base(file), ".amounts"))
	fmt.Fprint(w, "| test | what | unit | median | range | n | wanted | holds |\n|---|---|---|---:|---:|---:|---|---|\n")
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var a amount
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return err
		}
		fmt.Fprintln(w, a.row())
	}
	return lines.Err()
}

func (a amount) row() string {
	found, spread, holds := a.Outcome, "", ""
	if found == "" {
		found = number(a.Median)
	}
	if a.N > 1 {
		spread = number(a.Lowest) + " to " + number(a.Highest)
	}
	if a.Holds != nil {
		holds = map[bool]string{true: "yes", false: "**no**"}[*a.Holds]
	}
	cells := []string{a.Test, a.What, a.Unit, found, spread, strconv.Itoa(a.N), a.Wanted, holds}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// number has three digits, or all of a whole number.
func number(x float64) string {
	if x >= 1000 || x <= -1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
