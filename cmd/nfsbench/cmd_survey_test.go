package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/ports"
)

// writeRequest writes a request for an array that does not listen, and its
// credentials, and returns the file and the folder of the secrets.
func writeRequest(t *testing.T, change func(*runfile.SurveyRequest)) (file, secrets string) {
	t.Helper()
	q := runfile.SurveyRequest{
		Run:    runfile.Identity{Name: "look"},
		Source: runfile.Source{Kind: runfile.SourceONTAP, Name: "ontap", URL: "https://" + ports.Reserve(t).String(), SVM: "svm1", Credentials: "array"},
		Export: "/vol/oradata", TimeoutSeconds: 1,
	}
	if change != nil {
		change(&q)
	}
	var raw bytes.Buffer
	if err := runfile.WriteSurveyRequest(&raw, q); err != nil {
		t.Fatal(err)
	}
	secrets = t.TempDir()
	file = filepath.Join(secrets, "request.json")
	for path, text := range map[string]string{file: raw.String(), "array/username": "nfsbench", "array/password": "Pa55-of-the-array\n"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(secrets, path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, secrets
}

func TestSurveyRefusesWhatItCannotUse(t *testing.T) {
	file, _ := writeRequest(t, nil)
	nameless, _ := writeRequest(t, func(q *runfile.SurveyRequest) { q.Export = "" })
	cases := map[string]struct {
		args []string
		want string
	}{
		"no request":   {nil, "at least one of the flags in the group [request connect mounted] is required"},
		"no port":      {[]string{"--connect", "10.0.0.5"}, "--connect: address 10.0.0.5: missing port in address"},
		"two tasks":    {[]string{"--connect", "10.0.0.5:443", "--request", file}, "if any flags in the group [request connect mounted] are set"},
		"no file":      {[]string{"--request", "/does/not/exist"}, "--request: open /does/not/exist"},
		"bad request":  {[]string{"--request", nameless}, "export: is empty, and so is source.volume"},
		"no namespace": {[]string{"--request", file, "--configmap", "x"}, `--configmap is "x"; give NAMESPACE/NAME`},
		"no cluster":   {[]string{"--request", file, "--configmap", "a/b"}, "can only be reached from a pod"},
		"both":         {[]string{"--request", file, "--configmap", "a/b", "--out", "x"}, "if any flags in the group [configmap out answers] are set"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			refuses(t, append([]string{"survey"}, tc.args...), tc.want)
		})
	}
}

func TestSurveyWritesDownThatAnArrayDoesNotAnswer(t *testing.T) {
	t.Parallel()
	file, secrets := writeRequest(t, nil)
	survey := func(args ...string) (int, string) {
		var out, errOut bytes.Buffer
		code := run(append([]string{"survey", "--request", file, "--secrets-dir", secrets}, args...), strings.NewReader(""), &out, &errOut)
		return code, out.String() + errOut.String()
	}
	to := filepath.Join(t.TempDir(), runfile.KeySurvey)
	code, said := survey("--out", to)
	raw, err := os.ReadFile(to)
	if err != nil {
		t.Fatalf("%v; said %s", err, said)
	}
	s := runfile.Survey{}
	if err := json.Unmarshal(raw, &s); err != nil || s.Problem == nil || s.Source != "ontap" {
		t.Fatalf("wrote %s, %v", raw, err)
	}
	if code != cli.ExitOK || !strings.Contains(said, s.Problem.Reason) {
		t.Errorf("a problem that is written down: exit code %d, said %q", code, said)
	}
	answers := filepath.Join(t.TempDir(), "answers")
	code, _ = survey("--answers", answers)
	if raw, err = os.ReadFile(answers); err != nil {
		t.Fatal(err)
	}
	if checks, err := runfile.ReadChecks(string(raw)); code != cli.ExitOK || err != nil || len(checks) != 1 || checks[0].Result != runfile.CheckFail || checks[0].Message != s.Problem.Message {
		t.Errorf("for a doctor: exit code %d, %+v, %v", code, checks, err)
	}
	if code, said := survey(); code != cli.ExitFailed || !strings.Contains(said, s.Problem.Reason) {
		t.Errorf("a problem on a terminal: exit code %d, said %q", code, said)
	}
	if code, said := survey("--out", filepath.Join(t.TempDir(), "no", "folder")); code != cli.ExitFailed || !strings.Contains(said, "publish the survey") {
		t.Errorf("a problem that cannot be written down: exit code %d, said %q", code, said)
	}
}

func TestSurveySaysWhetherAnAddressAcceptsConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	closed := ports.Reserve(t).String()
	for address, want := range map[string]struct {
		code int
		says string
	}{
		l.Addr().String(): {cli.ExitOK, "accepts connections"},
		closed:            {cli.ExitFailed, manifestNoConnection + closed + " within 5s:"},
	} {
		says(t, want.code, []string{"survey", "--connect", address}, want.says)
	}
}

// manifestNoConnection is manifest.NoConnection, by which the operator finds the error. The
// program does not import what knows of Kubernetes.
const manifestNoConnection = "nfsbench: no connection to "

func TestSurveyKnowsItsAddressesAndWhatItMustNotSay(t *testing.T) {
	t.Parallel()
	_, secrets := writeRequest(t, nil)
	env := map[string]string{envPodIPs: "10.244.0.5,fd00:244::5", envHostIPs: "192.168.0.7"}
	if got := clientAddresses(func(k string) string { return env[k] }); !slices.Equal(got, []string{"10.244.0.5", "fd00:244::5", "192.168.0.7"}) {
		t.Errorf("clients %q", got)
	}
	if got := secretsIn(secrets, "array"); !slices.Equal(got, []string{"Pa55-of-the-array"}) {
		t.Errorf("secrets %q", got)
	}
	if got := secretsIn(secrets, ""); got != nil {
		t.Errorf("secrets %q of nobody", got)
	}
	f := surveyFlags{configMap: "bench/demo-result"}
	a := &app{log: slog.New(slog.DiscardHandler), now: time.Now}
	if _, err := f.publisher(a, func(string) string { return "" }); err == nil {
		t.Error("outside a cluster it publishes to one")
	}
}

func TestAnArrayThatAnswersIsInOrderAsFarAsItsAccountMayRead(t *testing.T) {
	t.Parallel()
	s := runfile.Survey{Array: "ONTAP 9.14.1"}
	if got, want := arrayCheck(s), (runfile.Check{Check: "array", Result: runfile.CheckOK, Message: "ONTAP 9.14.1 answers"}); got != want {
		t.Errorf("%+v", got)
	}
	s.Missing = []runfile.MissingFact{{What: "QoS", Why: "not authorized", Fix: "add /api/storage/qos"}, {What: "rules", Why: "404"}}
	want := runfile.Check{
		Check: "array", Result: runfile.CheckWarn,
		Message: "ONTAP 9.14.1 answers; not known: QoS: not authorized (add /api/storage/qos); not known: rules: 404",
	}
	if got := arrayCheck(s); got != want {
		t.Errorf("%+v", got)
	}
}
