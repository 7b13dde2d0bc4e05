package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLibrariesOfTheHomeComeFirstAndOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    []string
		want   []string // nil = the process goes on as it is
	}{
		"no home":        {"nothing is known", []string{"A=1"}, nil},
		"empty home":     {"nothing is known", []string{"ORACLE_HOME="}, nil},
		"no path":        {"images of Free set none", []string{"ORACLE_HOME=/u01", "A=1"}, []string{"ORACLE_HOME=/u01", "A=1", "LD_LIBRARY_PATH=/u01/lib", "NFSBENCH_ORALOAD_STARTED=1"}},
		"other path":     {"what was there stays", []string{"LD_LIBRARY_PATH=/usr/lib", "ORACLE_HOME=/u01"}, []string{"ORACLE_HOME=/u01", "LD_LIBRARY_PATH=/u01/lib:/usr/lib", "NFSBENCH_ORALOAD_STARTED=1"}},
		"there already":  {"images of Enterprise set it", []string{"ORACLE_HOME=/u01", "LD_LIBRARY_PATH=/x:/u01/lib"}, nil},
		"similar path":   {"a longer name is another folder", []string{"ORACLE_HOME=/u01", "LD_LIBRARY_PATH=/u01/lib64"}, []string{"ORACLE_HOME=/u01", "LD_LIBRARY_PATH=/u01/lib:/u01/lib64", "NFSBENCH_ORALOAD_STARTED=1"}},
		"second start":   {"no loop, whatever took the path away", []string{"ORACLE_HOME=/u01", "NFSBENCH_ORALOAD_STARTED=1"}, nil},
		"trailing slash": {"it is the same folder", []string{"ORACLE_HOME=/u01/", "LD_LIBRARY_PATH=/u01/lib"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, again := withLibraryPath(tc.env)
			if again != (tc.want != nil) {
				t.Fatalf("%s: again %t", tc.reason, again)
			}
			if diff := cmp.Diff(tc.want, got); again && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
