package ontap_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	adapter "github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// ending is what becomes of a survey or a sample under a fault.
type ending struct {
	reason    string // of a survey that fails; of a sample any text will do
	permanent bool
	missing   string // a survey that succeeds misses this
}

var fine = ending{}

// faultCase is one fault, and how survey and sample end under it.
type faultCase struct {
	fault          ontap.Fault
	survey, sample ending
	timeout        time.Duration
}

func faultCases() map[string]faultCase {
	const volumes, nodes, lifs = "/api/storage/volumes/...", "/api/cluster/nodes", "/api/network/ip/interfaces"
	refused := ending{reason: runfile.SurveyRefused, permanent: true}
	unreachable := ending{reason: runfile.SurveyUnreachable}
	failed := ending{reason: runfile.SurveyFailed}
	nothingThere := ending{reason: runfile.SurveyFailed, permanent: true}
	return map[string]faultCase{
		"401":                            {fault: ontap.Fault{Status: 401, Code: "6691623", Message: "User is not authorized."}, survey: refused, sample: refused},
		"401 half way":                   {fault: ontap.Fault{Path: nodes, Status: 401}, survey: refused, sample: refused},
		"403 on the volume":              {fault: ontap.Fault{Path: volumes, Status: 403, Code: "6"}, survey: refused, sample: refused},
		"403 on the nodes":               {fault: ontap.Fault{Path: nodes, Status: 403, Code: "6"}, survey: ending{missing: "code 6"}},
		"403 with a number":              {fault: ontap.Fault{Path: nodes, Status: 403, Code: 6}, survey: ending{missing: "code 6"}},
		"403 without a body":             {fault: ontap.Fault{Path: nodes, Status: 403}, survey: ending{missing: "403"}},
		"404 everywhere":                 {fault: ontap.Fault{Status: 404, Code: "3"}, survey: nothingThere, sample: nothingThere},
		"404 on the LIFs":                {fault: ontap.Fault{Path: lifs, Status: 404, Code: "3"}, survey: ending{missing: "404"}},
		"500 forever":                    {fault: ontap.Fault{Status: 500, Message: "oops"}, survey: failed, sample: failed},
		"500 once on the volume":         {fault: ontap.Fault{Path: volumes, Status: 500, Times: 1}, survey: failed, sample: failed},
		"503 forever":                    {fault: ontap.Fault{Status: 503}, survey: failed, sample: failed},
		"503 twice":                      {fault: ontap.Fault{Status: 503, Times: 2}, survey: fine, sample: fine},
		"429, in a moment":               {fault: ontap.Fault{Status: 429, Times: 1, Header: http.Header{"Retry-After": {"0"}}}, survey: fine, sample: fine},
		"a redirect":                     {fault: ontap.Fault{Status: 302, Header: http.Header{"Location": {"https://192.0.2.250/steal"}}}, survey: nothingThere, sample: nothingThere},
		"slow":                           {fault: ontap.Fault{Delay: 50 * time.Millisecond}, survey: fine, sample: fine},
		"no answer":                      {fault: ontap.Fault{Hang: true}, survey: unreachable, sample: unreachable, timeout: 300 * time.Millisecond},
		"no answer on the nodes":         {fault: ontap.Fault{Path: nodes, Hang: true}, survey: unreachable, sample: unreachable, timeout: 300 * time.Millisecond},
		"a reset forever":                {fault: ontap.Fault{Reset: true}, survey: unreachable, sample: unreachable},
		"a reset once":                   {fault: ontap.Fault{Reset: true, Times: 1}, survey: fine, sample: fine},
		"half an answer forever":         {fault: ontap.Fault{Cut: true}, survey: unreachable, sample: unreachable},
		"half an answer once":            {fault: ontap.Fault{Cut: true, Times: 1}, survey: fine, sample: fine},
		"a body that is no JSON":         {fault: ontap.Fault{Garbage: true}, survey: nothingThere, sample: nothingThere},
		"a server that repeats secrets":  {fault: ontap.Fault{Status: 400, Code: "2", Message: "bad", Echo: true}, survey: nothingThere, sample: nothingThere},
		"one that hides them in a 403":   {fault: ontap.Fault{Path: nodes, Status: 403, Code: "6", Echo: true}, survey: ending{missing: "403"}},
		"one that hides them in a 404":   {fault: ontap.Fault{Path: lifs, Status: 404, Code: "3", Echo: true}, survey: ending{missing: "404"}},
		"pages of one record":            {fault: ontap.Fault{PageSize: 1}, survey: fine, sample: fine},
		"an empty page with a next":      {fault: ontap.Fault{EmptyPage: true}, survey: fine, sample: fine},
		"secrets in a refused password":  {fault: ontap.Fault{Status: 401, Echo: true}, survey: refused, sample: refused},
		"an unavailable that says later": {fault: ontap.Fault{Status: 503, Header: http.Header{"Retry-After": {"3600"}}}, survey: failed, sample: failed},
	}
}

func TestEachFaultOfASurveyEndsClearly(t *testing.T) {
	t.Parallel()
	for name, tc := range faultCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			s := w.source(t)
			w.Inject(tc.fault)
			ctx, cancel := tc.context(t)
			defer cancel()
			got, err := s.Survey(ctx, "/vol1")
			w.check(t, tc.survey, err)
			if tc.timeout != 0 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the context's error", err)
			}
			if err == nil {
				storagetest.CheckSurvey(t, got, w.secrets()...)
				w.complete(t, got, tc.survey.missing)
			}
			w.Clear()
			if got, err = s.Survey(t.Context(), "/vol1"); err != nil {
				t.Fatalf("after the fault: %v", err)
			}
			w.complete(t, got, "")
		})
	}
}

func TestEachFaultOfASampleEndsClearly(t *testing.T) {
	t.Parallel()
	for name, tc := range faultCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			s := w.source(t)
			w.load(1)
			w.Inject(tc.fault)
			ctx, cancel := tc.context(t)
			defer cancel()
			_, err := s.Sample(ctx)
			w.check(t, tc.sample, err)
			if tc.timeout != 0 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the context's error", err)
			}
			w.Clear()
			w.load(1)
			w.clock.step(30 * time.Second) // refused credentials are left alone for so long
			if snap, err := s.Sample(t.Context()); err != nil || *snap.ReadOps != 2 {
				t.Errorf("after the fault: %+v, %v", snap, err)
			}
		})
	}
}

func (tc faultCase) context(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	if tc.timeout == 0 {
		return t.Context(), func() {}
	}
	return context.WithTimeout(t.Context(), tc.timeout)
}

// check wants err to be what was expected, and to hold no secret.
func (w *world) check(t *testing.T, want ending, err error) {
	t.Helper()
	if (err != nil) != (want.reason != "") {
		t.Fatalf("got %v, want reason %q", err, want.reason)
	}
	if err == nil {
		return
	}
	if survey, ok := errors.AsType[*storage.SurveyError](err); ok && survey.Reason != want.reason {
		t.Errorf("reason %s, want %s: %v", survey.Reason, want.reason, err)
	}
	if storage.IsPermanent(err) != want.permanent {
		t.Errorf("permanent is %t: %v", !want.permanent, err)
	}
	for i, secret := range w.secrets() {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds secret number %d", i)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
}

// complete wants a survey to miss what holds text, and nothing where text is empty.
func (w *world) complete(t *testing.T, s runfile.Survey, text string) {
	t.Helper()
	if text == "" {
		if len(s.Missing) != 0 || len(s.LIFs) != 2 || len(s.Nodes) != 2 || s.Volume.Node != "naclu1-01" || len(s.Rules) != 2 {
			t.Errorf("the survey is not complete: %+v", s)
		}
		return
	}
	if len(s.Missing) != 1 || !strings.Contains(s.Missing[0].Why, text) {
		t.Errorf("missing %+v, want something with %q", s.Missing, text)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		certificate ontap.Certificate
		trust       bool
		want        string
	}{
		"a proper one":             {ontap.CertificateProper, true, ""},
		"a proper one of somebody": {ontap.CertificateProper, false, "tls.caBundle"},
		"the one of the factory":   {ontap.CertificateFactory, true, "no SAN"},
		"an expired one":           {ontap.CertificateExpired, true, "expired"},
		"one of another host":      {ontap.CertificateForeign, true, "192.0.2.250"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := begin(t, func(o *ontap.Options) { o.Certificate = tc.certificate })
			w.load(1)
			s := w.source(t, func(src *runfile.Source) {
				if !tc.trust {
					src.CABundle = ""
				}
			})
			want := ending{reason: runfile.SurveyUntrusted, permanent: true}
			if tc.want == "" {
				want = fine
			}
			_, surveyErr := s.Survey(t.Context(), "/vol1")
			_, sampleErr := s.Sample(t.Context())
			for _, err := range []error{surveyErr, sampleErr} {
				w.check(t, want, err)
				if err != nil && (!strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "tls.verification: Disabled")) {
					t.Errorf("the error does not say what to do: %v", err)
				}
			}
			if tc.want != "" && len(w.Requests()) != 0 {
				t.Errorf("credentials were sent to somebody who proved nothing: %+v", w.Requests())
			}
			careless := w.source(t, func(src *runfile.Source) { src.CABundle, src.InsecureSkipVerify = "", true })
			if _, err := careless.Sample(t.Context()); err != nil {
				t.Errorf("without verification: %v", err)
			}
		})
	}
}

func TestStatisticsThatCannotBeUsedAreNotUsed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"negative_delta", "partial_no_data", "inconsistent_delta_time", "error"} {
		t.Run(status, func(t *testing.T) {
			w := begin(t)
			s := w.source(t)
			w.load(1)
			w.SetStatus(ontap.StatisticsVolumes, status)
			if _, err := s.Sample(t.Context()); err == nil || storage.IsPermanent(err) || !strings.Contains(err.Error(), status) {
				t.Errorf("of the volume: %v", err)
			}
			w.SetStatus(ontap.StatisticsVolumes, "")
			w.SetStatus(ontap.StatisticsNodes, status)
			w.SetStatus(ontap.StatisticsLIFs, status)
			snap := sampled(t, s)
			if len(snap.Nodes) != 2 || snap.Nodes[0].BusyMicroseconds != nil || snap.Nodes[0].BaseMicroseconds != nil {
				t.Errorf("of the nodes: %+v", snap.Nodes)
			}
			if len(snap.Paths) != 2 || snap.Paths[1].ReadBytes != nil || snap.Paths[1].Node != "naclu1-02" {
				t.Errorf("of the LIFs: %+v", snap.Paths)
			}
			if got, err := s.Survey(t.Context(), "/vol1"); err != nil || len(got.Missing) != 1 || got.Missing[0].What != "CPU of the nodes" {
				t.Errorf("missing %+v: %v", got.Missing, err)
			}
		})
	}
	w := begin(t)
	w.load(1)
	w.SetStatus(ontap.StatisticsVolumes, "backfilled_data")
	sampled(t, w.source(t))
}

func sampled(t *testing.T, s *adapter.Source) storage.Snapshot {
	t.Helper()
	snap, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestStatisticsThatStandStillKeepTheirTime(t *testing.T) {
	t.Parallel()
	w := begin(t)
	s := w.source(t)
	w.load(1)
	first := sampled(t, s)
	w.Freeze(true)
	w.load(1)
	if again := sampled(t, s); !again.Time.Equal(first.Time) || *again.ReadOps != 1 {
		t.Errorf("frozen: %v, %d operations", again.Time, *again.ReadOps)
	}
	w.Freeze(false)
	if next := sampled(t, s); !next.Time.After(first.Time) || *next.ReadOps != 2 {
		t.Errorf("thawed: %v, %d operations", next.Time, *next.ReadOps)
	}
}

func TestAResetShowsAsFallingCounters(t *testing.T) {
	t.Parallel()
	w := begin(t)
	s := w.source(t)
	w.load(100)
	before := sampled(t, s)
	w.ResetCounters()
	w.load(1)
	after := sampled(t, s)
	if *after.ReadOps != 1 || *after.ReadOps >= *before.ReadOps || !after.Time.After(before.Time) {
		t.Errorf("from %d to %d", *before.ReadOps, *after.ReadOps)
	}
}

func TestRefusedCredentialsAreNotTriedEachSecond(t *testing.T) {
	t.Parallel()
	w := begin(t)
	s := w.source(t)
	w.load(1)
	w.SetAccounts(ontap.Admin(user, "another"))
	for range 20 {
		if _, err := s.Sample(t.Context()); err == nil || !storage.IsPermanent(err) {
			t.Fatalf("got %v", err)
		}
		w.clock.step(time.Second)
	}
	if n := len(w.Requests()); n > 4 {
		t.Errorf("%d requests in 20 s: the array would lock the account", n)
	}
	w.SetAccounts(ontap.Admin(user, password))
	w.clock.step(30 * time.Second)
	sampled(t, s)
}

func TestAChangedSecretIsTakenUpAtOnce(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.load(1)
	dir := t.TempDir()
	write := func(key, value string) {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("username", user)
	write("password", password)
	cred, err := rest.ReadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := adapter.New(runfile.Source{Kind: runfile.SourceONTAP, Name: "array", URL: w.url, CABundle: string(w.ca), SVM: "vsdb122b", Volume: "vol1"}, cred, w.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	sampled(t, s)
	w.SetAccounts(ontap.Admin(user, "another"))
	if _, err := s.Sample(t.Context()); err == nil {
		t.Error("the old password is taken")
	}
	write("password", "another")
	sampled(t, s)
	w.SetAccounts(ontap.Admin("somebody", "else"))
	write("username", "somebody")
	write("password", "else")
	if _, err := s.Survey(t.Context(), "/vol1"); err != nil {
		t.Errorf("a survey: %v", err)
	}
}
