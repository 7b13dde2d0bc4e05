package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// recorded is what files hold: the result of a run, or the record of a suite's.
type recorded struct {
	name   string // for people
	result runfile.Result
	run    *runfile.SuiteRun
}

// readRecorded reads one result, of which several files are the clients, or the
// record of one suite's run.
func readRecorded(stdin io.Reader, names []string) (recorded, error) {
	var parts []runfile.Result
	for _, name := range names {
		data, err := readFile(stdin, name)
		if err != nil {
			return recorded{}, err
		}
		if !isSuiteRun(data) {
			res, err := runfile.ReadResult(bytes.NewReader(data))
			if err != nil {
				return recorded{}, fmt.Errorf("%s: %w", name, err)
			}
			parts = append(parts, res)
			continue
		}
		if len(names) > 1 {
			return recorded{}, fmt.Errorf("%s is the record of a suite's run: give it alone", name)
		}
		run, err := runfile.ReadSuiteRun(bytes.NewReader(data))
		if err != nil {
			return recorded{}, fmt.Errorf("%s: %w", name, err)
		}
		return recorded{name: name, run: &run}, nil
	}
	res, err := runfile.Join(parts...)
	return recorded{name: names[0], result: res}, err
}

func readFile(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // nothing was written to it
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, runfile.MaxResultBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > runfile.MaxResultBytes:
		return nil, fmt.Errorf("%s: larger than %d bytes; this is no result", name, runfile.MaxResultBytes)
	case len(data) == 0:
		return nil, fmt.Errorf("%s: %w", name, errors.New("the file is empty; was it still being written?"))
	}
	return data, nil
}

// isSuiteRun looks for the version by which a record of a suite's run names
// itself. What cannot be read is for the reader of results to refuse.
func isSuiteRun(data []byte) bool {
	var in io.Reader = bytes.NewReader(data)
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		in = io.LimitReader(z, runfile.MaxResultBytes)
	}
	var head struct {
		Version string `json:"version"`
	}
	return json.NewDecoder(in).Decode(&head) == nil && head.Version == runfile.SuiteRunVersion
}
