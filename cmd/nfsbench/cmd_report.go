package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// newReportCommand returns the report command, which judges result files again and shows them. A result contains its
// plan, so the command needs no other file.
func newReportCommand(a *app) *cobra.Command {
	var to cli.Destination
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Show a result file: numbers, verdict and findings",
		Long: `Judge a result and show it on one page: on the terminal, or as one HTML file
that needs no network and no script. Several files are the clients of one run. The
record of a suite's run is shown too. A file may be gzip-compressed; - is standard
input.

The results of a run in a cluster are in the ConfigMap that status.resultRef of
the NFSBenchmark names, one key for each client:

  kubectl get configmap nfsb-demo-result -o jsonpath='{.binaryData.client-0\.result\.json\.gz}' \
    | base64 -d | nfsbench report -`,
		Example: `  nfsbench report result.json.gz
  nfsbench report client-0.json.gz client-1.json.gz -o report.html`,
		Args: cli.AtLeastOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := to.Parse(); err != nil {
				return err
			}
			in, err := readRecorded(cmd, args)
			if err != nil {
				return cli.BadInput(err)
			}
			return to.WriteReport(cmd, in, nil, a.pageOptions())
		},
	}
	to.Register(cmd)
	return cmd
}

func (a *app) pageOptions() report.PageOptions {
	return report.PageOptions{Generated: a.now(), Version: cli.Version(version)}
}

// readRecorded reads one result, from one file for each client, or the record of one suite's run.
func readRecorded(cmd *cobra.Command, names []string) (cli.Recorded, error) {
	var parts []runfile.Result
	for _, name := range names {
		data, err := cli.ReadInput(cmd.Context(), cmd.InOrStdin(), name, "result", runfile.MaxResultBytes)
		if err != nil {
			return cli.Recorded{}, err
		}
		if len(data) == 0 {
			return cli.Recorded{}, fmt.Errorf("%s: the file is empty; was it still being written?", name)
		}
		if !isSuiteRun(data) {
			res, err := readOne(name, data)
			if err != nil {
				return cli.Recorded{}, err
			}
			parts = append(parts, res)
			continue
		}
		if len(names) > 1 {
			return cli.Recorded{}, fmt.Errorf("%s is the record of a suite's run: give it alone", name)
		}
		run, err := runfile.ReadSuiteRun(bytes.NewReader(data))
		if err != nil {
			return cli.Recorded{}, fmt.Errorf("%s: %w", name, err)
		}
		return cli.Recorded{Arg: name, Run: &run}, nil
	}
	res, err := runfile.Join(parts...)
	return cli.Recorded{Arg: names[0], Result: res}, err
}

func readOne(name string, data []byte) (runfile.Result, error) {
	res, err := runfile.ReadResult(bytes.NewReader(data))
	switch {
	case errors.As(err, new(*json.SyntaxError)):
		return res, fmt.Errorf("%s is no result as 'nfsbench load -o result.json' writes it: %w", name, err)
	case err != nil:
		return res, fmt.Errorf("%s: %w", name, err)
	default:
		return res, nil
	}
}

// isSuiteRun reports whether data has the version of a suite's record. It returns false for unreadable data, which
// the reader of results then rejects.
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
