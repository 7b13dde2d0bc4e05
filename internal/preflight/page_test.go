package preflight

import (
	"context"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/internal/survey"
)

// TestEachReasonOfThePageSaysWhatToDo holds the first table of reasons in docs/storage.md: each of its reasons occurs
// here, and its message has the words after which somebody acts.
func TestEachReasonOfThePageSaysWhatToDo(t *testing.T) {
	t.Parallel()
	fixes := map[string]string{
		v1alpha1.ReasonSecretNotFound: "create it, or correct",
		runfile.SurveyUnreachable:     "check that this is the management LIF, and that pods reach its port ",
		runfile.SurveyUntrusted:       "put the certificate of its issuer into tls.caBundle of storage.array",
		runfile.SurveyRefused:         "check user and password, or token, in the Secret of credentialsSecretRef",
		runfile.SurveyNoVolume:        "check SVM, export path and the volume's junction (volume show -junction)",
		runfile.SurveyMoveFailed:      "without storage.trident.moveTo",
		v1alpha1.ReasonNoPath:         "create one",
		ServiceDisabled:               "vserver nfs modify -vserver svm1 -access true",
		ProtocolDisabled:              "-v3 enabled, or choose another protocol.version",
		LIFDown:                       "network interface modify -vserver svm1 -lif lif2 -status-admin up",
		UnknownLIF:                    "use one of 10.0.1.61 lif1, 10.0.2.61 lif2",
		TransferSizeTooSmall:          "or lower protocol.transferSize",
		ExportPolicyDenies:            "vserver export-policy rule",
		VolumeOffline:                 "bring it back on the array",
		VolumeMoving:                  "volume move show -vserver svm1 -volume oradata",
		VolumeFull:                    "volume size -vserver svm1",
		TooManyPaths:                  "one path",
		SameSubnet:                    "paths 10.0.1.61 (lif1) and 10.0.1.200 (lif2) are both in",
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fixes)), reasonsOfThePage(t)); diff != "" {
		t.Errorf("the page and this test differ (-test +page):\n%s", diff)
	}
	for reason, fix := range fixes {
		if said := messageOf(t, reason); !strings.Contains(said, fix) {
			t.Errorf("%s says %q, and not %q", reason, said, fix)
		}
	}
}

// reasonsOfThePage returns the reasons in the table below "PreflightPassed".
func reasonsOfThePage(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "`PreflightPassed`")
	_, rest, _ = strings.Cut(rest, "|---|---|\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	var reasons []string
	for row := range strings.SplitSeq(table, "\n") {
		_, row, _ = strings.Cut(row, "|")
		first, _, _ := strings.Cut(row, "|")
		for _, m := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(first, -1) {
			reasons = append(reasons, m[1])
		}
	}
	slices.Sort(reasons)
	return reasons
}

// messageOf makes the problem of a reason, and returns its message.
func messageOf(t *testing.T, reason string) string {
	t.Helper()
	for _, cases := range []map[string]checkCase{arrayCases(), volumeCases(), pathCases(), policyCases()} {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			if cases[name].code != reason || cases[name].text == "" {
				continue
			}
			in := good()
			cases[name].change(&in)
			for _, r := range Check(in) {
				if r.Code == reason {
					return r.Message
				}
			}
		}
	}
	switch reason {
	case v1alpha1.ReasonSecretNotFound:
		p := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "ontap" not found`}},
		}}}}
		if trouble := diagnose.Pods([]corev1.Pod{p}, nil, time.Now(), diagnose.DefaultGrace()); trouble != nil && trouble.Reason == reason {
			return trouble.Message
		}
	case v1alpha1.ReasonNoPath:
		in := good()
		in.Benchmark.Spec.Protocol.Paths = &bench.Paths{Select: bench.PathsRemote}
		in.Target.Survey.LIFs = in.Target.Survey.LIFs[:1]
		_, err := plan.SelectPaths(in.Benchmark.Spec, []string{"10.0.1.61"}, in.Target.Survey)
		if errors.Is(err, plan.ErrNoPath) {
			return err.Error()
		}
	default:
		return surveyed(t, reason)
	}
	return ""
}

// surveyed asks an array over HTTPS that answers so that the survey ends with the reason.
func surveyed(t *testing.T, reason string) string {
	t.Helper()
	array := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case reason == runfile.SurveyRefused:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/api/cluster":
			_, _ = w.Write([]byte(`{"version":{"full":"NetApp Release 9.14.1","generation":9,"major":14,"minor":1}}`))
		default:
			_, _ = w.Write([]byte(`{"records":[],"num_records":0}`))
		}
	}))
	defer array.Close()
	array.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	req := runfile.SurveyRequest{Version: runfile.SurveyVersion, Export: "/vol/oradata", TimeoutSeconds: 60, Source: runfile.Source{
		Kind: runfile.SourceONTAP, Name: "ontap", URL: array.URL, SVM: "svm1", Credentials: "array",
		CABundle: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: array.Certificate().Raw})),
	}}
	switch reason {
	case runfile.SurveyUnreachable:
		array.Close()
		req.TimeoutSeconds = 1
	case runfile.SurveyUntrusted:
		req.Source.CABundle = ""
	case runfile.SurveyMoveFailed:
		req.MoveTo = "aggr2"
	}
	got, err := survey.Run(t.Context(), survey.Options{
		Request: req, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Publish: func(context.Context, runfile.Survey) error { return nil },
		Open: func(s runfile.Source) (storage.Source, error) {
			source, err := ontap.New(s, rest.Credentials{Username: "u", Password: "p"}, time.Now)
			if reason == runfile.SurveyMoveFailed {
				return struct{ storage.Surveyor }{source}, err // of another kind, which moves nothing
			}
			return source, err
		},
	})
	if err != nil || got.Problem == nil || got.Problem.Reason != reason {
		t.Errorf("survey %+v, %v; want %s", got, err, reason)
		return ""
	}
	return got.Problem.Message
}
