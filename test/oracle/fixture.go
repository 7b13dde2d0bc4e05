package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// Fixture replaces the answers to statements by declared ones: the numbers that
// somebody printed. Statements that it does not name are answered as ever.
type Fixture struct {
	// Advance names the statements that end a phase when they have run: the load,
	// between whose two snapshots something is counted.
	Advance []string `json:"advance,omitempty"`
	// EachCall names statements whose answers are for each of their own calls
	// since the start, not for phases.
	EachCall []string `json:"eachCall,omitempty"`
	// Answers are for each statement its answer in each phase; the last one stays.
	Answers map[string][]Answer `json:"answers"`
}

// Answer is what a statement answers: rows by lower-case column, where OUT binds
// count as columns of one row, or an error.
type Answer struct {
	Rows  []map[string]any `json:"rows,omitempty"`
	Error *wire.Failure    `json:"error,omitempty"`
}

// ReadFixture reads a fixture from a JSON file.
func ReadFixture(file string) (*Fixture, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &Fixture{}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(f); err != nil {
		return nil, fmt.Errorf("fixture %s: %w", file, err)
	}
	return f, nil
}

// fixed is the declared answer to a statement, if there is one.
func (i *Instance) fixed(name string) ([]row, bool, error) {
	if i.cfg.Fixture == nil || len(i.cfg.Fixture.Answers[name]) == 0 {
		return nil, false, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	answers := i.cfg.Fixture.Answers[name]
	at := int64(i.phase)
	if slices.Contains(i.cfg.Fixture.EachCall, name) {
		at = i.executed[name]
	}
	answer := answers[min(at, int64(len(answers)-1))]
	if answer.Error != nil {
		return nil, true, answer.Error
	}
	var rows []row
	for _, r := range answer.Rows {
		out := row{}
		for column, v := range r {
			out[column] = number(v)
		}
		rows = append(rows, out)
	}
	return rows, true, nil
}

// number makes int64 or float64 of what JSON has.
func number(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if whole, err := n.Int64(); err == nil {
		return whole
	}
	part, _ := n.Float64()
	return part
}

// ran counts a statement, and ends the phase where the fixture says so.
func (i *Instance) ran(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.executed[name]++
	if i.cfg.Fixture != nil && slices.Contains(i.cfg.Fixture.Advance, name) {
		i.phase++
	}
}

// Executed is how often a statement of ours was executed since the start.
func (i *Instance) Executed(name string) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.executed[name]
}
