package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Outcome is what is kept of one run.
type Outcome struct {
	Validity bench.Validity `json:"validity"`
	// Codes are the findings behind Validity, without repetition. They omit TooShort: the windows of
	// the rig are short on purpose, so that there can be many.
	Codes []judge.Code `json:"codes,omitempty"`
	// Warnings leave the run Valid: they report a low number that was measured correctly.
	Warnings []judge.Code `json:"warnings,omitempty"`
	Notes    []judge.Code `json:"notes,omitempty"` // findings of severity Info
	// These cover the whole run; times are microseconds.
	BytesPerSecond int64  `json:"bytesPerSecond"`
	OpsPerSecond   int64  `json:"opsPerSecond"`
	Mean           int64  `json:"mean"`
	P99            int64  `json:"p99"`
	StorageOps     int64  `json:"storageOps,omitempty"` // per second, by the storage's counters
	Open           bool   `json:"open,omitempty"`       // the load is an open loop
	Failure        string `json:"failure,omitempty"`    // failure of the load
}

// says reports whether a finding of any severity is present.
func (o Outcome) says(c judge.Code) bool {
	return slices.Contains(o.Codes, c) || slices.Contains(o.Warnings, c) || slices.Contains(o.Notes, c)
}

// outcomeOf judges a result. short = TooShort counts.
func outcomeOf(r runfile.Result, short bool) Outcome {
	j := judge.Judge(r)
	var o Outcome
	var counted []bench.Finding
	for _, f := range j.Findings {
		if f.Code == judge.TooShort && !short {
			continue
		}
		counted = append(counted, f)
		into := &o.Notes
		switch {
		case judge.ValidityOf([]bench.Finding{f}) != bench.ValidityValid:
			into = &o.Codes
		case f.Severity != bench.SeverityInfo:
			into = &o.Warnings
		}
		if !slices.Contains(*into, f.Code) {
			*into = append(*into, f.Code)
		}
	}
	o.Validity = judge.ValidityOf(counted)
	if j.Summary != nil {
		o.measured(*j.Summary)
	}
	raw := r.Plan.Workload.Raw
	o.Open = raw != nil && bench.OrZero(raw.OperationsPerSecond) > 0
	for _, c := range r.Clients {
		if f := c.Load.Failure; f != nil {
			o.Failure = f.Code
		}
	}
	return o
}

func (o *Outcome) measured(s measure.Summary) {
	o.BytesPerSecond, o.OpsPerSecond = s.Total.BytesPerSecond, s.Total.OperationsPerSecond
	if l := s.Total.Latency; l != nil {
		o.Mean, o.P99 = l.MeanMicroseconds, l.P99Microseconds
	}
	if ops := s.Storage.OperationsPerSecond; ops != nil {
		o.StorageOps = *ops
	}
}

// headline returns the number that measures an effect: the throughput, or the p99 of an open loop,
// whose throughput is fixed. For storage injections it is the storage's operations per client
// operation, and for latency injections the mean latency.
func (o Outcome) headline(in Injection) float64 {
	switch {
	case in.Storage:
		return float64(o.StorageOps) / float64(max(o.OpsPerSecond, 1))
	case in.Latency:
		return float64(o.Mean)
	case o.Open:
		return float64(o.P99)
	default:
		return float64(o.BytesPerSecond)
	}
}

// AARun is one run without an injection.
type AARun struct {
	Load    string  `json:"load"`
	Place   string  `json:"place"`
	Noise   bool    `json:"noise,omitempty"`
	Outcome Outcome `json:"outcome"`
}

// Trial is a pair of runs, with and without an injection, otherwise equal.
type Trial struct {
	Injection string  `json:"injection"`
	Kind      string  `json:"kind"`
	Place     string  `json:"place"`
	Strength  string  `json:"strength"`
	Honest    Outcome `json:"honest"`
	Injected  Outcome `json:"injected"`
	// Effect is the relative change of the headline; nil = one of the two runs has no number.
	Effect *float64 `json:"effect,omitempty"`
	// By are the findings that make the injected run Suspect or Invalid and that the honest run does
	// not have. Noticed reports that there are any.
	By      []judge.Code `json:"by,omitempty"`
	Noticed bool         `json:"noticed"`
	// Named are the warnings that name the injection and leave the run Valid, unless the honest run has them too.
	Named []judge.Code `json:"named,omitempty"`
	// Apart: no rate of the summary includes the trial, because a finding says the same of every run
	// of the rig; see Short and Small of Injection.
	Apart bool `json:"apart,omitempty"`
	// Again reports that an earlier Trial has the same honest run.
	Again bool `json:"again,omitempty"`
}

// pair compares two runs.
func pair(in Injection, s Strength, honest, injected Outcome) Trial {
	t := Trial{Injection: in.Name, Kind: in.Kind, Place: in.Place, Strength: s.Name, Honest: honest, Injected: injected, Apart: in.Short || in.Small}
	if a, b := honest.headline(in), injected.headline(in); a > 0 && b > 0 {
		t.Effect = new(b/a - 1)
	}
	for _, code := range injected.Codes {
		if !slices.Contains(honest.Codes, code) {
			t.By = append(t.By, code)
		}
	}
	for _, code := range injected.Warnings {
		if slices.Contains(in.Expect, code) && !slices.Contains(honest.Warnings, code) {
			t.Named = append(t.Named, code)
		}
	}
	t.Noticed = len(t.By) > 0
	return t
}

// flagged reports that the run is noticed, or that a warning names the injection.
func (t Trial) flagged() bool { return t.Noticed || len(t.Named) > 0 }

// Record is one line of the file of all runs: an AARun, a Trial, an error, or the end.
type Record struct {
	AA    *AARun `json:"aa,omitempty"`
	Trial *Trial `json:"trial,omitempty"`
	Error string `json:"error,omitempty"`
	// Whole, in the last line, reports that nothing was left out, so that the table may go into the docs.
	Whole bool `json:"whole,omitempty"`
	// Results are the files of the runs in the folder of results, for a Trial the honest one first.
	// They are not published.
	Results []string `json:"results,omitempty"`
}

// again judges the results of a record again, with the current checks and thresholds.
func (r Record) again(read func(name string) (runfile.Result, error)) (Record, error) {
	var results []runfile.Result
	for _, name := range r.Results {
		result, err := read(name)
		if err != nil {
			return r, err
		}
		results = append(results, result)
	}
	switch {
	case r.AA != nil && len(results) == 1:
		r.AA.Outcome = outcomeOf(results[0], false)
	case r.Trial != nil && len(results) == 2:
		all := injections()
		i := slices.IndexFunc(all, func(in Injection) bool { return in.Name == r.Trial.Injection && in.Place == r.Trial.Place })
		if i < 0 {
			return r, fmt.Errorf("there is no injection %q at %s any more", r.Trial.Injection, r.Trial.Place)
		}
		in, again := all[i], r.Trial.Again
		r.Trial = new(pair(in, Strength{Name: r.Trial.Strength}, outcomeOf(results[0], in.Short), outcomeOf(results[1], in.Short)))
		r.Trial.Again = again
	case r.Error == "" && !r.Whole:
		return r, errors.New("the results of a run were not kept")
	}
	return r, nil
}
