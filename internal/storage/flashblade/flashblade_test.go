package flashblade_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/flashblade"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	standin "github.com/nfsbench/nfsbench/test/flashblade"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

var (
	began   = time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	secrets = []string{standin.Token, "of-a-secret"}
	load    = standin.Second{Reads: 1000, Writes: 100, Others: 10, ReadBytes: 8192000, WriteBytes: 819200, ReadLatency: 250, WriteLatency: 500}
)

func start(t *testing.T) *standin.Standin {
	t.Helper()
	a := standin.New(began)
	t.Cleanup(a.Close)
	return a
}

func source(t *testing.T, a *standin.Standin, volume string) *flashblade.Source {
	t.Helper()
	return sourceWith(t, a, volume, rest.Credentials{Token: standin.Token})
}

func sourceWith(t *testing.T, a *standin.Standin, volume string, cred rest.Credentials) *flashblade.Source {
	t.Helper()
	s, err := flashblade.New(runfile.Source{
		Kind: runfile.SourceFlashBlade, Name: "flashblade", URL: a.URL(), CABundle: a.CABundle(), Volume: volume,
	}, cred, func() time.Time { return began.Add(5 * time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheFlashBladeSourceKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, volume := range []string{"", "fs1"} {
		storagetest.Run(t, func(t *testing.T) storagetest.Subject {
			t.Helper()
			a := start(t)
			return storagetest.Subject{
				Source:  source(t, a, volume),
				Work:    func(*testing.T) { a.Pass(1, load) },
				Break:   func(*testing.T) { a.Set("/", standin.Fault{Status: http.StatusInternalServerError, Body: "gone"}) },
				Mend:    func(*testing.T) { a.Set("/", standin.Fault{}) },
				Secrets: secrets,
			}
		})
	}
}

func TestTheFlashBladeSurveyorKeepsTheContract(t *testing.T) {
	t.Parallel()
	storagetest.RunSurveyor(t, func(t *testing.T) storagetest.SurveySubject {
		t.Helper()
		a := start(t)
		return storagetest.SurveySubject{
			Surveyor: source(t, a, ""), Export: "/fs1",
			Hide:    func(*testing.T) { a.Set("/network-interfaces", standin.Fault{Status: http.StatusForbidden}) },
			Break:   func(*testing.T) { a.Set("/", standin.Fault{Drop: true}) },
			Mend:    func(*testing.T) { a.Set("/", standin.Fault{}) },
			Refuse:  func(*testing.T) { a.SetToken("another") },
			Secrets: secrets,
		}
	})
}

func TestEverySecondIsCountedOnce(t *testing.T) {
	t.Parallel()
	a := start(t)
	s := source(t, a, "fs1")
	first := storagetest.Sample(t, s)
	a.Pass(3, load)
	a.Pass(2, standin.Second{Reads: 1})
	storagetest.Sample(t, s)
	storagetest.Sample(t, s) // nothing happened since
	a.Pass(4, load)
	got := storagetest.Sample(t, s)
	want := runfile.StorageSample{
		ReadOps: new(int64(7002)), WriteOps: new(int64(700)), OtherOps: new(int64(70)), ReadBytes: new(int64(7 * 8192000)), WriteBytes: new(int64(7 * 819200)),
		ReadMicroseconds: new(int64(7 * 250000)), WriteMicroseconds: new(int64(7 * 50000)),
	}
	if diff := cmp.Diff(want, storagetest.Totals(got)); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	if !first.Time.Equal(began) || !got.Time.Equal(began.Add(9*time.Second)) || got.Epoch != first.Epoch {
		t.Errorf("from %v to %v, epochs %q and %q: times are the array's", first.Time, got.Time, first.Epoch, got.Epoch)
	}
	if got.Nodes != nil || got.Paths != nil {
		t.Errorf("it tells neither CPU nor addresses: %+v %+v", got.Nodes, got.Paths)
	}
	if n := a.Logins(); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestALongOutageIsFilledFromTheHistoryOfTheArray(t *testing.T) {
	t.Parallel()
	a := start(t)
	s := source(t, a, "fs1")
	first := storagetest.Sample(t, s)
	a.Pass(300, load)
	if got := storagetest.Sample(t, s); got.Epoch != first.Epoch || *got.ReadOps != 300000 {
		t.Errorf("epoch %q after %q, %d reads", got.Epoch, first.Epoch, *got.ReadOps)
	}
	a.Pass(60, load)
	a.Forget(50*time.Second, 10*time.Second)
	if got := storagetest.Sample(t, s); got.Epoch == first.Epoch || *got.ReadOps != 9000 {
		t.Errorf("what the array has lost is not made up: epoch %q, %d reads", got.Epoch, *got.ReadOps)
	}
}

func TestTheClockOfTheArrayMayBeSetBack(t *testing.T) {
	t.Parallel()
	a := start(t)
	s := source(t, a, "fs1")
	first := storagetest.Sample(t, s)
	a.SetClock(began.Add(-time.Hour))
	storagetest.Sample(t, s)
	a.Pass(2, load)
	if got := storagetest.Sample(t, s); got.Epoch == first.Epoch || *got.ReadOps != 2000 {
		t.Errorf("epoch %q, %d reads", got.Epoch, *got.ReadOps)
	}
}

func TestSessionsThatEndAreBegunAgainOnce(t *testing.T) {
	t.Parallel()
	a := start(t)
	s := source(t, a, "fs1")
	storagetest.Sample(t, s)
	a.Expire()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.Sample(t.Context()); err != nil {
				t.Errorf("sample: %v", err)
			}
		})
	}
	all.Wait()
	if n := a.Logins(); n != 2 {
		t.Errorf("%d logins, want one for each session", n)
	}
	if err := s.Close(); err != nil || a.Sessions() != 0 {
		t.Errorf("close: %v, %d sessions left", err, a.Sessions())
	}
	before := len(a.Asked())
	storagetest.Sample(t, s)
	if next := a.Asked()[before]; next != "/api/login" {
		t.Errorf("after the session was closed %s is asked, with its token", next)
	}
}

func TestATokenThatWasExchangedIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(token string) {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(standin.Token)
	cred, err := rest.ReadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := start(t)
	s := sourceWith(t, a, "fs1", cred)
	storagetest.Sample(t, s)
	a.SetToken("T-second")
	_, err = s.Sample(t.Context())
	if err == nil || !storage.IsPermanent(err) || rest.Reason(err) != runfile.SurveyRefused {
		t.Errorf("the old token is refused: %v", err)
	}
	write("T-second")
	storagetest.Sample(t, s)
}

func TestTheNewestVersionThatIsUnderstoodIsUsed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		versions []string
		want     string
	}{
		"in disorder": {[]string{"1.0", "2.9", "2.17", "2.2"}, "/api/2.17/"},
		"a later 3":   {[]string{"2.1", "3.0"}, "/api/2.1/"},
		"too old":     {[]string{"1.0", "1.12"}, ""},
		"odd":         {[]string{"2.x", "2.-1", ""}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.SetVersions(tc.versions...)
			_, err := source(t, a, "fs1").Sample(t.Context())
			asked := a.Asked()
			switch {
			case tc.want == "" && (err == nil || !storage.IsPermanent(err) || !strings.Contains(err.Error(), "no REST 2.x")):
				t.Errorf("got %v", err)
			case tc.want != "" && (err != nil || !strings.HasPrefix(asked[len(asked)-1], tc.want)):
				t.Errorf("asked %q, %v", asked, err)
			}
		})
	}
}

func TestFaultsOfTheArray(t *testing.T) {
	t.Parallel()
	const path = "/file-systems/performance"
	cases := map[string]struct {
		reason    string
		path      string
		fault     standin.Fault
		permanent bool
		says      string
	}{
		"forbidden":   {"the role may not", path, standin.Fault{Status: 403, Body: `{"errors":[{"context":null,"message":"no access for ` + standin.Token + `"}]}`}, true, "no access"},
		"an accident": {"it may pass", path, standin.Fault{Status: 500}, false, "500"},
		"no login":    {"it may pass", "/api/login", standin.Fault{Status: 503}, false, "log in"},
		"no array":    {"something else is there", "/api/api_version", standin.Fault{Status: 200, Body: "<html>"}, true, "not what was expected"},
		"odd items":   {"something else is there", path, standin.Fault{Status: 200, Body: `{"items":{}}`}, true, "items"},
		"nothing":     {"nothing was measured yet", path, standin.Fault{Status: 200, Body: `{"items":[]}`}, false, "no performance"},
		"no items":    {"that is not to have none", path, standin.Fault{Status: 200, Body: `{"items":null}`}, true, "items"},
		"an error":    {"it has status 200", path, standin.Fault{Status: 200, Body: `{"items":[],"errors":[{"context":"fs1","message":"try later"}]}`}, false, "fs1: try later"},
		"no end":      {"pages are bounded", path, standin.Fault{Status: 200, Body: `{"items":[` + strings.TrimSuffix(strings.Repeat("{},", 5000), ",") + `],"continuation_token":"x"}`}, true, "does not end"},
		"no session":  {"another program is there", "/api/login", standin.Fault{Status: 200}, true, "x-auth-token"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.Set(tc.path, tc.fault)
			_, err := source(t, a, "fs1").Sample(t.Context())
			if err == nil || storage.IsPermanent(err) != tc.permanent || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%s: %v, permanent %v", tc.reason, err, storage.IsPermanent(err))
			}
			for _, secret := range secrets {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds a secret: %v", err)
				}
			}
		})
	}
	a := start(t)
	a.Set(path, standin.Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := source(t, a, "fs1").Sample(ctx); !errors.Is(err, context.DeadlineExceeded) || storage.IsPermanent(err) {
		t.Errorf("a slow array: %v", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := runfile.Source{URL: "https://10.0.0.5"}
	cases := map[string]struct {
		src  runfile.Source
		cred rest.Credentials
	}{
		"no token":   {good, rest.Credentials{Username: "u", Password: standin.Token}},
		"plain HTTP": {runfile.Source{URL: "http://10.0.0.5"}, rest.Credentials{Token: standin.Token}},
		"a password": {runfile.Source{URL: "https://u:" + standin.Token + "@10.0.0.5"}, rest.Credentials{Token: standin.Token}},
	}
	for name, tc := range cases {
		_, err := flashblade.New(tc.src, tc.cred, time.Now)
		if err == nil || !storage.IsPermanent(err) || strings.Contains(err.Error(), standin.Token) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASessionThatIsOverAlreadyIsClosed(t *testing.T) {
	t.Parallel()
	a := start(t)
	a.Pass(2, load)
	s := source(t, a, "")
	if err := s.Close(); err != nil || len(a.Asked()) != 0 {
		t.Errorf("nothing was begun, and closed by %q: %v", a.Asked(), err)
	}
	storagetest.Sample(t, s)
	a.Expire()
	if err := s.Close(); err != nil || a.Logins() != 1 {
		t.Errorf("close: %v, after %d logins, want one", err, a.Logins())
	}
}
