package oraclesuite_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

// TestAReportOfAPodHasConditionsAndFacts, and nothing of the messages, which have figures and addresses.
func TestAReportOfAPodHasConditionsAndFacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, v any) {
		raw, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("kernel.doctor.json", map[string]any{"checks": []runfile.Check{
		{Check: "image", Result: "OK", Message: "make is there"},
		{Check: "server", Result: "WARN", Message: "10.1.2.3 refuses"},
		{Check: "Direct NFS", Result: "FAIL", Message: `/etc/mtab shows the export "/vol/customer one" at /opt/oracle/oradata and not | "/vol/elsewhere"`},
		{Check: "start command", Result: "OK", Message: "/u99/scott/start.sh"},
	}})
	b := v1alpha1.NFSBenchmark{}
	b.Status.Phase, b.Status.Validity = v1alpha1.PhaseFailed, bench.ValidityInvalid
	b.Status.Conditions = []metav1.Condition{{
		Type: "DatabaseReady", Status: metav1.ConditionFalse, Reason: "ParameterRefused", Message: "host db7",
	}}
	b.Status.Message = "host db7: ORA-00821: too small"
	b.Status.Findings = []bench.Finding{{Code: "TooShort", Message: "only 4711 IOPS"}}
	write("kernel.json", b)
	result := experiments.Calibrations()[0].Result()
	result.Clients[0].Load.Oracle.Library = &runfile.DirectNFSLibrary{Mounts: []runfile.DNFSMount{{Export: "/vol", Server: "array7.corp.example", DefinedIn: "mtab"}}, Warnings: []string{
		"Direct NFS: Failed to mount /vol/oradata on filer array7.corp.example",
	}}
	f, err := os.Create(filepath.Join(dir, "kernel.result.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := runfile.WriteResult(f, result); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	if err := oraclesuite.PodReport(&report, dir, "v1", "registry.corp.example/x", []string{"kernel"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## kernel\n", "| doctor, image | OK: make is there |", "| doctor, server | WARN |", "| doctor, Direct NFS | FAIL: ... shows the export ... at ... and not   ... |", "| phase | Failed |", "| DatabaseReady | False, ParameterRefused |",
		"| errors | ORA-00821 |", "| finding | TooShort |", "Failed to mount ... on filer ... |", "| Direct NFS mounts | an export that is defined in mtab |", "| datafiles are reached by | DNFS_LIB |",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %q in\n%s", want, report.String())
		}
	}
	for _, never := range []string{"10.1.2.3", "4711", "db7", "corp.example", "27066", "customer", "elsewhere", "scott"} {
		if strings.Contains(report.String(), never) {
			t.Errorf("%q in\n%s", never, report.String())
		}
	}
}
