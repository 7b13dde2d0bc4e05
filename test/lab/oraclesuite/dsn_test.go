package oraclesuite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

func TestADSNIsRead(t *testing.T) {
	got, err := oraclesuite.ParseDSN("oracle://sys:a%2Fb@db/FREE?pdb=FREEPDB1&directNFS=true&seconds=5&tablespace=t")
	want := oraclesuite.Options{Admin: "db:1521/FREE", Load: "db:1521/FREEPDB1", User: "sys", Password: "a/b", Tablespace: "T", DirectNFS: true, Seconds: 5}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "sys/secret@db/FREE", "oracle://sys:secret@db/", "oracle://sys:secret@db/FREE?directNFS=maybe", "oracle://sys:secret@db/FREE?what=1", "oracle://sys:sec%ret@db/FREE"} {
		_, err := oraclesuite.ParseDSN(bad)
		if err == nil || strings.Contains(err.Error(), "sec") && !strings.Contains(err.Error(), "seconds") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
