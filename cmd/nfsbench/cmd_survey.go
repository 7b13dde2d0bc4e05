package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
	"github.com/nfsbench/nfsbench/internal/survey"
)

// The environment variables with the addresses by which an array may see a pod.
const (
	envPodIPs  = "POD_IPS"
	envHostIPs = "HOST_IPS"
)

// surveyFlags are the flags of survey.
type surveyFlags struct {
	request, secrets   string
	connect, mounted   string
	configMap, outFile string
	answers            string
}

// newSurveyCommand returns the survey command, which asks an array what it is and where a volume is.
func newSurveyCommand(a *app) *cobra.Command {
	f := surveyFlags{}
	cmd := &cobra.Command{
		Use: "survey --request FILE [--configmap NAMESPACE/NAME | --out FILE] | survey --connect HOST:PORT | " +
			"survey --mounted DIR",
		Short: "Ask an array for its LIFs, the volume of an export and who owns it",
		Long: `Ask an array, over its REST interface, for its LIFs and nodes, the
volume behind an export and the node that owns it, the NFS service and the
export policy. The command shows them, with what the account may not read and how to fix
that, and writes them as JSON (docs/schema/survey.schema.json) to a file or to
the key ` + runfile.KeySurvey + ` of a ConfigMap.

It changes nothing, unless the request names moveTo: then the volume is moved to
that aggregate first, online, and what is written says meanwhile how far it is.

The request names the array, and the folder of its credentials below
--secrets-dir, in which each key is a file (username and password, or token):

  {
    "version": "` + runfile.SurveyVersion + `",
    "run": {"name": "look"},
    "source": {"kind": "ontap", "name": "ontap", "url": "https://10.0.0.5",
               "svm": "svm1", "credentials": "array"},
    "export": "/vol/oradata"
  }

The addresses in $` + envPodIPs + ` and $` + envHostIPs + `, with commas between them, are those that
an export policy is held against.

An array that cannot be asked is a result too: with --configmap or --out the
exit code is 0 when it could be written down, and 1 when not. Without them an
array that cannot be asked ends the program with 1.

With --connect it only tries, for 5 s, to connect to an address, such as the
management LIF of an array, and sends nothing.

With --mounted it only says which NFS export is mounted on a directory.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.mounted != "" {
				return f.saysMount(procfs.Host(), cmd.OutOrStdout())
			}
			if f.connect != "" {
				return tryToConnect(cmd.Context(), f.connect, cmd.OutOrStdout())
			}
			return f.run(cmd.Context(), a, cmd.OutOrStdout(), os.Getenv)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request, "request", "", "file with the request")
	flags.StringVar(&f.connect, "connect", "", "only try to connect to this HOST:PORT")
	flags.StringVar(&f.mounted, "mounted", "", "only say which export is mounted on this directory")
	flags.StringVar(&f.secrets, "secrets-dir", defaultSecretsDir,
		"folder with the folder of the credentials that the request names")
	flags.StringVar(&f.configMap, "configmap", "", "publish to this ConfigMap, NAMESPACE/NAME, which must exist")
	flags.StringVar(&f.outFile, "out", "", "write to this file")
	flags.StringVar(&f.answers, "answers", "", "write whether the array answers, as JSON, to this file")
	_ = flags.MarkHidden("answers") // for the pod of kubectl nfsbench doctor
	cmd.MarkFlagsOneRequired("request", "connect", "mounted")
	cmd.MarkFlagsMutuallyExclusive("request", "connect", "mounted")
	cmd.MarkFlagsMutuallyExclusive("configmap", "out", "answers")
	return cmd
}

// saysMount writes the export that is mounted on a directory, as JSON.
func (f *surveyFlags) saysMount(r procfs.Reader, out io.Writer) error {
	mounts, err := r.Mounts()
	if err != nil {
		return err
	}
	m, _ := procfs.MountOf(mounts, f.mounted)
	if !m.IsNFS() {
		return fmt.Errorf("%s is on a file system of type %s (%s), not NFS", f.mounted, m.Type, m.Source)
	}
	export, err := runfile.ParseMountedExport(m.Source)
	if err != nil {
		return err
	}
	text, err := json.Marshal(export)
	if err != nil || f.outFile == "" {
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	return os.WriteFile(f.outFile, text, 0o644) // a file of the kubelet, which cannot be replaced
}

// connectTimeout bounds the time that an address takes to accept a connection.
const connectTimeout = 5 * time.Second

// tryToConnect tests whether an address accepts connections. The operator recognizes the error by its first words.
func tryToConnect(ctx context.Context, address string, out io.Writer) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return cli.BadInputf("--connect: %w", err)
	}
	d := net.Dialer{Timeout: connectTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("no connection to %s within %s: %w", address, connectTimeout, err)
	}
	_, err = fmt.Fprintf(out, "%s accepts connections\n", address)
	return errors.Join(err, conn.Close())
}

func (f *surveyFlags) run(ctx context.Context, a *app, out io.Writer, getenv func(string) string) error {
	request, err := readFlagFile("--request", f.request, func(r io.Reader) (runfile.SurveyRequest, error) {
		q, err := runfile.ReadSurveyRequest(r)
		if err == nil {
			err = q.Validate()
		}
		return q, err
	})
	if err != nil {
		return cli.BadInput(err)
	}
	put, err := f.publisher(a, getenv)
	if err != nil {
		return cli.BadInput(err)
	}
	s, err := survey.Run(ctx, survey.Options{
		Request: request,
		Open: func(s runfile.Source) (storage.Source, error) {
			return connect.Open(s, connect.Options{SecretsDir: f.secrets, Now: a.now})
		},
		Publish: func(ctx context.Context, s runfile.Survey) error {
			var text strings.Builder
			if err := runfile.WriteSurvey(&text, s); err != nil {
				return err
			}
			return put(ctx, text.String())
		},
		Clients: clientAddresses(getenv),
		Secrets: secretsIn(f.secrets, request.Source.Credentials),
		Now:     a.now, Log: a.log,
	})
	if err != nil {
		return err
	}
	if f.answers != "" {
		return writeAnswers(f.answers, []runfile.Check{arrayCheck(s)})
	}
	if s.Problem != nil && f.configMap == "" && f.outFile == "" {
		return fmt.Errorf("%s: %s", s.Problem.Reason, s.Problem.Message)
	}
	return survey.Text(out, s)
}

// arrayCheck says whether an array answers, and what its account may not read.
func arrayCheck(s runfile.Survey) runfile.Check {
	c := runfile.Check{Check: "array", Result: runfile.CheckOK, Message: s.Array + " answers"}
	if s.Problem != nil {
		c.Result, c.Message = runfile.CheckFail, s.Problem.Message
		return c
	}
	for _, m := range s.Missing {
		c.Result = runfile.CheckWarn
		c.Message += "; not known: " + m.What + ": " + m.Why
		if m.Fix != "" {
			c.Message += " (" + m.Fix + ")"
		}
	}
	return c
}

// publisher returns a function that writes the survey to the file or the ConfigMap of the flags.
func (f *surveyFlags) publisher(a *app, getenv func(string) string) (func(context.Context, string) error, error) {
	switch {
	case f.outFile != "":
		return func(_ context.Context, text string) error {
			return shareddir.Replace(filepath.Dir(f.outFile), filepath.Base(f.outFile), []byte(text), shareddir.ForAll)
		}, nil
	case f.configMap == "":
		return func(context.Context, string) error { return nil }, nil
	}
	cm, err := configMapPublisher(a, f.configMap, "", 0, getenv)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, text string) error { return cm.Put(ctx, runfile.KeySurvey, text) }, nil
}

// clientAddresses returns the addresses of the pod and its host from the environment.
func clientAddresses(getenv func(string) string) []string {
	var out []string
	for _, name := range []string{envPodIPs, envHostIPs} {
		for a := range strings.SplitSeq(getenv(name), ",") {
			if a != "" {
				out = append(out, a)
			}
		}
	}
	return out
}

// secretsIn reads the words that must not be published. It ignores unreadable files: the source cannot read them
// either, and reports that.
func secretsIn(dir, credentials string) []string {
	if credentials == "" {
		return nil
	}
	dir = filepath.Join(dir, credentials)
	return wordsIn(filepath.Join(dir, "password"), filepath.Join(dir, "token"))
}
