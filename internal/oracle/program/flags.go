package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const help = `oraload puts load on an Oracle database and reads what the database counts:
CALIBRATE_IO, or the SQL of the SLOB model. The operator runs it inside the
database image of the user; with Oracle's client installed it runs anywhere.

Usage:
  oraload --plan FILE --run-dir DIR --password-file FILE [--user-file FILE]

Examples:
  # A plan against a database that exists; progress and result in ./run
  mkdir run && oraload --plan plan.json --run-dir run --password-file password.txt

  # In a container of the database image
  oraload --plan /etc/nfsbench/plan.json --run-dir /run/nfsbench \
    --password-file /etc/nfsbench-database/password

The client library is looked for in $ORACLE_HOME/lib, in LD_LIBRARY_PATH and
where the system has its libraries. Progress is one line of JSON each second on
stderr. Exit codes: 0 done, 1 the load failed, 2 nothing was done because a flag
or a file is wrong.

Flags:
`

// maxSecretBytes bounds what is read from files of a Secret.
const maxSecretBytes = 4096

// flags are the flags of the loader.
type flags struct {
	plan, runDir, userFile, passwordFile string
}

// input is what the flags name.
type input struct {
	plan           runfile.Plan
	user, password string
}

// parse reads the arguments; help goes to out and gives pflag.ErrHelp.
func (f *flags) parse(args []string, out io.Writer) error {
	set := pflag.NewFlagSet("oraload", pflag.ContinueOnError)
	set.SortFlags = false
	set.SetOutput(io.Discard) // Main prints the error, once
	set.StringVar(&f.plan, "plan", "", "plan file with a database (required)")
	set.StringVar(&f.runDir, "run-dir", "", "directory for events and result, shared with the collector (required)")
	set.StringVar(&f.passwordFile, "password-file", "", "file with the password of the user (required)")
	set.StringVar(&f.userFile, "user-file", "", "file with the name of the user (default: that of the plan)")
	set.Usage = func() { fmt.Fprint(out, help, set.FlagUsages()) }
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is no flag; everything is said by flags", set.Arg(0))
	}
	for _, need := range []struct{ name, value string }{
		{"--plan", f.plan},
		{"--run-dir", f.runDir},
		{"--password-file", f.passwordFile},
	} {
		if need.value == "" {
			return fmt.Errorf("%s is required", need.name)
		}
	}
	return nil
}

// read reads the files that the flags name.
func (f *flags) read() (input, error) {
	file, err := os.Open(f.plan)
	if err != nil {
		return input{}, fmt.Errorf("--plan: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	plan, err := runfile.ReadPlan(file)
	if err == nil && plan.Database == nil {
		err = errors.New("it names no database; run it with nfsbench load")
	}
	if err == nil {
		err = plan.Validate()
	}
	if err != nil {
		return input{}, fmt.Errorf("--plan %s: %w", f.plan, err)
	}
	in := input{plan: plan, user: plan.Database.User}
	if f.userFile != "" {
		if in.user, err = readSecret("--user-file", f.userFile); err != nil {
			return input{}, err
		}
		in.user = strings.TrimSpace(in.user)
	}
	if in.user == "" {
		return input{}, fmt.Errorf("--plan %s names no user of the database; give --user-file", f.plan)
	}
	in.password, err = readSecret("--password-file", f.passwordFile)
	return in, err
}

// readSecret reads one word from a file of a Secret, without the line end that
// editors add. An error never holds what was read.
func readSecret(flag, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", oracle.Fail(runfile.FailurePassword,
			fmt.Sprintf("%s: %v; is the key in the Secret of the database?", flag, err), err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	word := strings.TrimRight(string(raw), "\r\n")
	switch {
	case len(raw) > maxSecretBytes:
		err = errors.New("it is longer than any password")
	case word == "":
		err = errors.New("it is empty")
	case strings.ContainsAny(word, "\r\n\x00"):
		err = errors.New("it has several lines; write one word")
	default:
		return word, nil
	}
	return "", oracle.Fail(runfile.FailurePassword, fmt.Sprintf("%s %s: %v", flag, path, err), err)
}
