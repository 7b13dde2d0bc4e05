package collect

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/flashblade"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// A FlashBlade has room for few sessions, and each run would leave one behind.
func TestTheEndOfASessionLogsOutOfTheArray(t *testing.T) {
	a := flashblade.New(day)
	t.Cleanup(a.Close)
	a.Pass(3, flashblade.Second{Reads: 1})
	secrets := t.TempDir()
	if err := os.WriteFile(filepath.Join(secrets, "token"), []byte(flashblade.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Start(t.Context(), Options{
		Plan: runfile.Plan{Collect: runfile.Collect{Sources: []runfile.Source{
			{Kind: runfile.SourceFlashBlade, Name: "array", URL: a.URL(), CABundle: a.CABundle(), Credentials: "."},
		}}},
		SecretsDir: secrets, Now: time.Now, Log: slog.New(slog.DiscardHandler), Root: machine(),
	})
	o := s.Finish(t.Context(), runfile.Load{})
	if len(o.Storage) == 0 || a.Logins() == 0 {
		t.Fatalf("%d samples by %d logins, problems %+v", len(o.Storage), a.Logins(), o.Problems)
	}
	if n := a.Sessions(); n != 0 {
		t.Errorf("%d sessions are left on the array", n)
	}
}

// closing counts how often it was closed.
type closing struct {
	storagetest.Fake
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return errAway
}

func TestSourcesOfTheCallerAreHisToClose(t *testing.T) {
	source := &closing{}
	s := Start(t.Context(), Options{Sources: []storage.Source{source}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Root: machine()})
	s.Finish(t.Context(), runfile.Load{})
	if source.closed != 0 {
		t.Errorf("closed %d times", source.closed)
	}
}
