// Command observe checks what we give to Prometheus: manifests of the Prometheus
// operator against its own types, and PromQL with Prometheus' own parser. It
// lives in a module of its own because their requirements would move the
// versions of the others.
//
//	observe kinds   <manifests   exit code 1 and a line for each mistake
//	observe queries <queries     a JSON list of queries in, what each uses out
//
// The Prometheus operator publishes its kinds as types: a strict decoder knows
// each field that there is.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: observe kinds|queries <FILE"))
	}
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	switch os.Args[1] {
	case "kinds":
		err = checkKinds(in)
	case "queries":
		err = printQueries(in)
	default:
		err = fmt.Errorf("there is no command %q: use kinds or queries", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func printQueries(in []byte) error {
	var queries []string
	if err := json.Unmarshal(in, &queries); err != nil {
		return fmt.Errorf("read a JSON list of queries: %w", err)
	}
	out := make([]use, 0, len(queries))
	for _, q := range queries {
		out = append(out, useOf(q))
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
