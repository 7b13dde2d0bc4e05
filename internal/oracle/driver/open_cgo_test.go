//go:build cgo

package driver

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle"
)

func TestASessionSaysHowItConnectsWithoutItsPassword(t *testing.T) {
	p := connectionParams(oracle.ConnectOptions{Connect: "db:1521/FREE", User: "sys", Password: "very-secret", Role: "SYSDBA"})
	text := p.String()
	for _, want := range []string{"db:1521/FREE", "user=sys", "adminRole=SYSDBA", "standaloneConnection=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if strings.Contains(text, "very-secret") || !strings.Contains(p.StringWithPassword(), "very-secret") {
		t.Errorf("parameters %q", text)
	}
	if p := connectionParams(oracle.ConnectOptions{Connect: "db/FREE", User: "user1"}); p.AdminRole != "" || !p.StandaloneConnection.Valid {
		t.Errorf("parameters %+v", p)
	}
}
