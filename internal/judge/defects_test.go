package judge

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func TestKnownDefectsAreThoseOfTheReleaseUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		nfs     bench.NFSVersion
		kernel  bool
		want    []string // code and a part of its message
		suspect bool
	}{
		"base release":   {"19.3.0.0.0", bench.NFSv3, false, []string{UnpatchedRelease, KnownDefect + " 32931941: blocks can be fractured"}, true},
		"last with it":   {"19.13.0.0.0", bench.NFSv3, false, []string{KnownDefect + " 32931941"}, true},
		"first without":  {"19.14.0.0.0", bench.NFSv3, false, nil, false},
		"21":             {"21.4.0.0.0", bench.NFSv3, false, []string{KnownDefect + " 32931941"}, true},
		"21 fixed":       {"21.5.0.0.0", bench.NFSv41, false, nil, false},
		"18":             {"18.14.0.0.0", bench.NFSv3, false, []string{KnownDefect + " 32931941"}, true},
		"18 before it":   {"18.12.0.0.0", bench.NFSv3, false, nil, false},
		"NFSv4, early":   {"19.10.0.0.0", bench.NFSv41, false, []string{KnownDefect + " 32931941", KnownDefect + " 33132050 and 33676296: the session"}, true},
		"NFSv4, patched": {"19.24.0.0.0", bench.NFSv41, false, []string{KnownDefect + " 33132050 and 33676296: without"}, false},
		"kernel":         {"19.10.0.0.0", bench.NFSv41, true, nil, false},
		"23":             {"23.4.0.24.05", bench.NFSv41, false, nil, false},
		"not known":      {"", bench.NFSv41, false, nil, false},
	} {
		r := experiments.Ramp()
		r.Plan.Database.DirectNFS, r.Plan.Engine.NFSVersion = !c.kernel, c.nfs
		r.Clients[0].Load.Oracle = &runfile.Oracle{Banner: "Oracle Database Enterprise Edition - Production Version " + c.version}
		var found findings
		checkRelease(newFacts(r), &found)
		if len(found) != len(c.want) || (ValidityOf(found) == bench.ValiditySuspect) != c.suspect {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
		j := Judgement{Findings: found}
		for _, want := range c.want {
			code, text, _ := strings.Cut(want, " ")
			if text != "" {
				text = "published defect " + text
			}
			if !hasFinding(j, code, text) || code == KnownDefect && !hasFinding(j, code, "If you have the patch, ignore this") {
				t.Errorf("%s: no %s in %+v", name, want, found)
			}
		}
	}
}
