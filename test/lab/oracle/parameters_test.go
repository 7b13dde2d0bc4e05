package oracle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// TestMemoryIsMeasuredByTheCPUsOfTheNode as Oracle does, whatever the container may use.
func TestMemoryIsMeasuredByTheCPUsOfTheNode(t *testing.T) {
	value := func(t *testing.T, w *standin.World, name string) string {
		t.Helper()
		found, err := oracle.NewAdmin(sysdba(t, w), time.Now).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found.Parameters {
			if p.Name == name {
				return p.Value
			}
		}
		return ""
	}
	cfg := standin.Config{NodeCPUs: 64, Parameters: map[string]string{"db_cache_size": "128M"}}
	w := standin.NewWorld(t, standin.Options{Config: cfg})
	if got := value(t, w, "cpu_count"); got != "64" {
		t.Errorf("cpu_count is %s", got)
	}
	if got := value(t, w, "db_cache_size"); got != "268435456" {
		t.Errorf("db_cache_size is %s: 128M is raised to 4M for each of 64 CPUs", got)
	}
	cfg.Parameters["cpu_count"] = "4"
	w = standin.NewWorld(t, standin.Options{Config: cfg})
	if got := value(t, w, "db_cache_size"); got != "134217728" {
		t.Errorf("db_cache_size is %s with 4 CPUs", got)
	}
	for sga, want := range map[string]string{
		"384M": "ORA-00821: Specified value of sga_target 384M is too small, needs to be at least 388M",
		"2T":   "ORA-27102: out of memory\nLinux-x86_64 Error: 28: No space left on device",
	} {
		i, err := standin.Open(t.Context(), standin.Config{
			NodeCPUs: 96, Parameters: map[string]string{"sga_target": sga}, Data: t.TempDir(), Base: t.TempDir(), Password: "x", Now: time.Now,
		})
		if err == nil {
			_ = i.Shutdown(context.WithoutCancel(t.Context()))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an SGA of %s: %v, want %q", sga, err, want)
		}
	}
}
