package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

type session struct {
	programs programs
	arena    *arena
	rows     []row
	repeats  int
	seconds  int
	scratch  string // folder for files that tools write
	out      string // folder for files that people read
	say      io.Writer
	doc      score.Document

	expected, took time.Duration  // of the turns that are over
	hung           map[string]int // how often, by row and contender

	short    bool                       // sweeps try only rates near the capacity
	searched map[string]*score.Capacity // result of the first search, by row
}

// mostHangs is how often a contender may hang in a row before it is left out of
// the rest of it: a hang costs much time.
const mostHangs = 2

// run goes through all turns. What has been measured is in the document,
// however it ends.
func (s *session) run(ctx context.Context) error {
	s.hung, s.searched = map[string]int{}, map[string]*score.Capacity{}
	for _, r := range s.rows {
		s.doc.Rows = append(s.doc.Rows, r.score())
	}
	turns := turnsOf(s.rows, s.repeats)
	fmt.Fprintf(s.say, "%d measurements, about %v\n", len(turns), remaining(s.rows, turns, s.seconds, 1))
	for i, t := range turns {
		sample, err := s.take(ctx, t)
		if err != nil {
			return err
		}
		s.doc.Samples = append(s.doc.Samples, sample)
		s.tell(t, sample, i+1, turns)
	}
	s.doc.Complete = true
	return nil
}

// take measures once. Its error is that of an interrupt; other errors are in the sample.
func (s *session) take(ctx context.Context, t turn) (score.Sample, error) {
	r := s.rows[t.Row]
	e := r.Entries[t.Entry]
	sample := score.Sample{Row: r.Name, Contender: e.Name, Repeat: t.Repeat, State: score.StateDone}
	if s.hung[r.Name+"/"+e.Name] >= mostHangs {
		sample.State, sample.Message = score.StateHangs, "and was not tried again"
		return sample, ctx.Err()
	}
	j := job{entry: e, Scene: s.arena.scene, Warmup: r.Warmup, Seconds: r.window(s.seconds), Output: filepath.Join(s.scratch, "output.json")}
	if err := s.arena.prepare(ctx, s.programs, j); err != nil {
		sample.State, sample.Message = score.StateFailed, "prepare: "+err.Error()
		return sample, context.Cause(ctx)
	}
	began := time.Now()
	err := s.measure(ctx, j, r.patience(e, s.seconds), &sample)
	s.expected, s.took = s.expected+r.lasts(e, s.seconds), s.took+time.Since(began)
	if ctx.Err() != nil {
		return sample, context.Cause(ctx)
	}
	switch {
	case errors.Is(err, errHangs):
		s.hung[r.Name+"/"+e.Name]++
		sample.State, sample.Message = score.StateHangs, err.Error()+s.keepWords(sample, err)
	case err != nil:
		sample.State, sample.Message = score.StateFailed, err.Error()
	}
	return sample, nil
}

// keepWords writes the last words of a process that hung into a file, and says
// where.
func (s *session) keepWords(sample score.Sample, err error) string {
	var h *hang
	if !errors.As(err, &h) || len(h.words) == 0 {
		return ""
	}
	name := fmt.Sprintf("hang-%s-%s-%d.txt", sample.Row, strings.ReplaceAll(sample.Contender, " ", "-"), sample.Repeat)
	if err := errors.Join(os.MkdirAll(s.out, 0o755), os.WriteFile(filepath.Join(s.out, name), h.words, 0o644)); err != nil {
		return ": " + err.Error()
	}
	return ", last words in " + name
}

func (s *session) measure(ctx context.Context, j job, patience time.Duration, sample *score.Sample) error {
	if j.Bound > 0 {
		return s.takeCapacity(ctx, j, patience, sample)
	}
	if j.Tool == toolCat {
		return s.again(ctx, j, patience, sample)
	}
	output, err := s.child(ctx, j, patience, sample)
	if err != nil {
		return err
	}
	if j.Tool == toolFio { // the others write to their standard output
		if output, err = os.ReadFile(j.Output); err != nil {
			return err
		}
	}
	return understand(j, output, sample)
}

// child runs the command of a job to its end and returns its standard output.
func (s *session) child(ctx context.Context, j job, patience time.Duration, sample *score.Sample) ([]byte, error) {
	command, err := s.programs.command(j)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(j.Output) // from an earlier job
	output, used, err := runChild(ctx, patience, command)
	sample.ProcessCPUSeconds, sample.PeakMemoryBytes = used.CPU.Seconds(), used.PeakBytes
	return output, err
}

// again measures a program that reads one file and ends: as often as fits, from
// its start to its end.
func (s *session) again(ctx context.Context, j job, patience time.Duration, sample *score.Sample) error {
	command, err := s.programs.command(j)
	if err != nil {
		return err
	}
	for sample.Seconds < float64(j.Seconds) {
		_, used, err := runChild(ctx, patience, append(command, discard))
		if err != nil {
			return err
		}
		sample.Seconds += used.Took.Seconds()
		sample.Bytes += fileBytes
		sample.ProcessCPUSeconds += used.CPU.Seconds()
		sample.PeakMemoryBytes = max(sample.PeakMemoryBytes, used.PeakBytes)
	}
	sample.CPUSeconds = &sample.ProcessCPUSeconds
	return nil
}

// tell reports the result of a turn and the expected end.
func (s *session) tell(t turn, sample score.Sample, done int, turns []turn) {
	unit := s.doc.Rows[t.Row].Unit
	what := sample.State + " " + sample.Message
	if v, ok := sample.Value(score.MetricRate, unit); ok {
		what = fmt.Sprintf("%.0f %s", v, unit)
	}
	if c := sample.Capacity; sample.State == score.StateDone && c != nil {
		what = fmt.Sprintf("%.0f %s in %.0f s", c.OperationsPerSecond, score.UnitOps, c.Seconds)
	}
	pace := 1.0
	if s.expected > 0 {
		pace = s.took.Seconds() / s.expected.Seconds()
	}
	eta := remaining(s.rows, turns[done:], s.seconds, pace)
	fmt.Fprintf(s.say, "[%3d/%d] %-16s repeat %d  %-12s %-14s  %v left\n", done, len(turns), sample.Row, sample.Repeat, sample.Contender, what, eta)
}

func writeJSON(doc score.Document, path string) error {
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// publish puts the tables into a page, and all repeats into JSON files beside it. A second page gets
// the tables of one screen. Capacity rows have their own tables and file.
func publish(doc score.Document, page, summary string) error {
	name := strings.TrimSuffix(page, filepath.Ext(page))
	for _, part := range []struct {
		doc         score.Document
		begin, file string
	}{
		{doc.Only(false), score.BeginMarker, name + ".json"},
		{doc.Only(true), score.BeginCapacityMarker, name + "-capacity.json"},
	} {
		if len(part.doc.Rows) == 0 {
			continue
		}
		err := errors.Join(fill(page, score.Markdown(part.doc), part.begin),
			fill(summary, score.Summary(part.doc), part.begin), writeJSON(part.doc, part.file))
		if err != nil {
			return err
		}
	}
	return nil
}

// fill puts a table into its place in a page.
func fill(page, table, begin string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	filled, err := score.Between(string(text), table, begin, score.EndMarker)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(filled), 0o644)
}
