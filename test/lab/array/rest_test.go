package array

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// caller asks the REST interface as one of its accounts.
type caller struct {
	t       *testing.T
	rest    *REST
	account ontap.Account
	http    *http.Client
}

func newCaller(t *testing.T, r *REST, user string) caller {
	t.Helper()
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(r.CAFile)
	if err != nil || !pool.AppendCertsFromPEM(ca) {
		t.Fatalf("no CA in %s (%v)", r.CAFile, err)
	}
	c := caller{t: t, rest: r, http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}}
	for _, a := range r.Accounts {
		if a.User == user {
			c.account = a
		}
	}
	return c
}

func (c caller) do(method, path, body string, into any) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.rest.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.SetBasicAuth(c.account.User, c.account.Password)
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %s %s (%v)", method, path, resp.Status, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

type raw struct {
	Read  uint64 `json:"read"`
	Write uint64 `json:"write"`
}

type restVolume struct {
	UUID       string `json:"uuid"`
	Aggregates []struct {
		Name string `json:"name"`
	} `json:"aggregates"`
	Statistics struct {
		IOPS       raw `json:"iops_raw"`
		Throughput raw `json:"throughput_raw"`
	} `json:"statistics"`
}

func (c caller) volume() restVolume {
	c.t.Helper()
	var all struct{ Records []restVolume }
	c.do(http.MethodGet, "/api/storage/volumes?name=data&fields=uuid,aggregates.name,statistics", "", &all)
	if len(all.Records) != 1 || len(all.Records[0].Aggregates) != 1 {
		c.t.Fatalf("the volumes are %+v", all.Records)
	}
	return all.Records[0]
}

// TestTheRESTInterfaceTellsWhatHappenedAndMovesTheVolume asks it as a program
// would that knows nothing of this package.
func TestTheRESTInterfaceTellsWhatHappenedAndMovesTheVolume(t *testing.T) {
	a := usual(t)
	r, err := a.StartREST(RESTOptions{Grid: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stopREST)
	if r.Accounts[0].Password == "" || !bytes.Contains(mustRead(t, r.AccountsFile), []byte(r.Accounts[0].Password)) {
		t.Errorf("%s does not hold the passwords", r.AccountsFile)
	}
	reader, admin := newCaller(t, r, "nfsbench"), newCaller(t, r, "admin")
	before := reader.volume()
	if before.Aggregates[0].Name != "aggr_a" {
		t.Errorf("the volume is on %+v", before.Aggregates)
	}

	f := create(t, client(t, a, 1), "file")
	writeAll(t, f)
	readAll(t, f, 32)
	want := a.Volume("data")
	err = until(t.Context(), func() error { return equal(reader.volume().Statistics.IOPS.Read, want.Read.Ops) })
	if after := reader.volume(); err != nil || after.Statistics.Throughput.Read != want.Read.Bytes ||
		after.Statistics.IOPS.Write != want.Write.Ops {
		t.Errorf("it tells %+v, true is %+v", after.Statistics, want)
	}

	var job struct{ Job struct{ UUID string } }
	admin.do(http.MethodPatch, "/api/storage/volumes/"+before.UUID, `{"movement":{"destination_aggregate":{"name":"aggr_b"}}}`, &job)
	err = until(t.Context(), func() error {
		var state struct{ State string }
		admin.do(http.MethodGet, "/api/cluster/jobs/"+job.Job.UUID, "", &state)
		return equal(state.State, "success")
	})
	if err != nil || a.Volumes()[0].Node != "arrtest-b" || reader.volume().Aggregates[0].Name != "aggr_b" {
		t.Errorf("after the job (%v) the volume is on %s, and told to be on %+v", err, a.Volumes()[0].Node, reader.volume().Aggregates)
	}
	readAll(t, f, 32)
	move(t, a, "arrtest-a")
	if got := reader.volume().Aggregates[0].Name; got != "aggr_a" {
		t.Errorf("after a move past the interface the volume is told to be on %s", got)
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func equal[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("%v, not %v", got, want)
	}
	return nil
}
