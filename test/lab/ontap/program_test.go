package ontap_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// The survey that a pod makes, by the program that it runs: what it writes and
// says under faults, and that no secret is anywhere in it.
func TestTheProgramOfASurvey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "nfsbench")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../..", "-o", program, "./cmd/nfsbench")
	// The race detector needs cgo, and the program would be compiled again with it.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cases := map[string]struct {
		options func(*ontap.Options)
		request func(*runfile.SurveyRequest)
		fault   ontap.Fault
		reason  string
		check   func(runfile.Survey) bool
	}{
		"all is well":      {check: func(s runfile.Survey) bool { return len(s.Missing) == 0 && len(s.LIFs) == 2 && s.IsStandIn() }},
		"a role too small": {options: account(ontap.SVMAdmin(user, password, "vsdb122b")), check: func(s runfile.Survey) bool { return len(s.Missing) == 2 }},
		"a role too small, and careless words": {
			fault: ontap.Fault{Path: "/api/cluster/nodes", Status: 403, Code: 6, Echo: true}, check: func(s runfile.Survey) bool { return len(s.Missing) == 1 },
		},
		"a wrong password":         {options: account(ontap.Admin(user, "another")), reason: runfile.SurveyRefused},
		"careless words on a 401":  {fault: ontap.Fault{Status: 401, Echo: true}, reason: runfile.SurveyRefused},
		"careless words on a 500":  {fault: ontap.Fault{Status: 500, Code: "1", Echo: true}, reason: runfile.SurveyFailed},
		"connections are reset":    {fault: ontap.Fault{Reset: true}, reason: runfile.SurveyUnreachable},
		"nobody answers":           {fault: ontap.Fault{Hang: true}, reason: runfile.SurveyUnreachable},
		"a certificate of nobody":  {request: func(q *runfile.SurveyRequest) { q.Source.CABundle = "" }, reason: runfile.SurveyUntrusted},
		"an expired certificate":   {options: func(o *ontap.Options) { o.Certificate = ontap.CertificateExpired }, reason: runfile.SurveyUntrusted},
		"no such volume":           {request: func(q *runfile.SurveyRequest) { q.Export, q.Source.Volume = "/vol9", "vol9" }, reason: runfile.SurveyNoVolume},
		"a move":                   {request: moveTo("aggr_b"), check: func(s runfile.Survey) bool { return s.Move.Percent == 100 && s.Volume.Node == "naclu1-02" }},
		"a move to nowhere":        {request: moveTo("aggr_x"), reason: runfile.SurveyMoveFailed},
		"a move without the right": {options: account(ontap.ReadOnly(user, password)), request: moveTo("aggr_b"), reason: runfile.SurveyMoveFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(o *ontap.Options) {
				if tc.options != nil {
					tc.options(o)
				}
			})
			if tc.fault.Status != 0 || tc.fault.Reset || tc.fault.Hang {
				w.Inject(tc.fault)
			}
			timeout := int32(120) // for a busy machine
			if tc.fault.Hang {
				timeout = 2
			}
			q := runfile.SurveyRequest{
				Version: runfile.SurveyVersion, Run: runfile.Identity{Name: "look"}, Export: "/vol1", TimeoutSeconds: timeout,
				Source: runfile.Source{
					Kind: runfile.SourceONTAP, Name: "array", URL: w.url, CABundle: string(w.ca), SVM: "vsdb122b", Volume: "vol1", Credentials: "array",
				},
			}
			if tc.request != nil {
				tc.request(&q)
			}
			got := w.survey(t, program, q)
			switch {
			case tc.reason == "" && (got.Problem != nil || !tc.check(got)):
				t.Errorf("got %+v, problem %+v", got, got.Problem)
			case tc.reason != "" && (got.Problem == nil || got.Problem.Reason != tc.reason):
				t.Errorf("problem %+v, want %s", got.Problem, tc.reason)
			}
		})
	}
}

func account(a ontap.Account) func(*ontap.Options) {
	return func(o *ontap.Options) { o.Model.Accounts = []ontap.Account{a} }
}

func moveTo(aggregate string) func(*runfile.SurveyRequest) {
	return func(q *runfile.SurveyRequest) { q.MoveTo = aggregate }
}

// survey runs the program, wants no secret in anything it says, and returns what it wrote.
func (w *world) survey(t *testing.T, program string, q runfile.SurveyRequest) runfile.Survey {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	request, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	put("array/username", w.user)
	put("array/password", w.password+"\n")
	out := filepath.Join(dir, "survey.json")
	cmd := exec.CommandContext(t.Context(), program, "survey", "--log-level", "debug", "--request", put("request.json", string(request)), "--secrets-dir", dir, "--out", out)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("survey: %v\n%s", err, said)
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for i, secret := range w.secrets() {
		if strings.Contains(string(said), secret) || strings.Contains(string(written), secret) {
			t.Errorf("secret number %d got out:\n%s\n%s", i, said, written)
		}
	}
	var s runfile.Survey
	if err := json.Unmarshal(written, &s); err != nil {
		t.Fatal(err)
	}
	storagetest.CheckSurvey(t, s, w.secrets()...)
	return s
}
