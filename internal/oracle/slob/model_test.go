package slob

import (
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
)

func TestPiecesHaveEveryKeyOnce(t *testing.T) {
	for _, rows := range []int64{1, 2, pieceRows - 1, pieceRows, pieceRows + 1, 3*pieceRows + 17, 10240} {
		seen := make([]int, rows+1)
		var before int64
		for _, p := range (table{rows: rows}).pieces() {
			if p.rows > pieceRows || p.rows < 1 || p.first != before+1 {
				t.Errorf("%d rows: piece %+v", rows, p)
			}
			before = p.first
			for i := range p.rows {
				seen[p.first+i*p.step]++
			}
		}
		for key := int64(1); key <= rows; key++ {
			if seen[key] != 1 {
				t.Fatalf("%d rows: key %d is there %d times", rows, key, seen[key])
			}
		}
	}
}

func TestRowsAreBlocks(t *testing.T) {
	s := Spec{SLOB: bench.SLOBWorkload{Access: bench.SLOBRandomRead, Scale: *bench.Bytes(80 << 20), ScanTableSize: *bench.Bytes(1 << 20)}, BlockBytes: 16384}
	if got := s.table(); got.rows != 5120 || got.kind != kindRanges {
		t.Errorf("%+v", got)
	}
	s.SLOB.Access = bench.SLOBFullTableScan
	if got := s.table(); got.rows != 64 || got.kind != kindScan {
		t.Errorf("%+v", got)
	}
	s.BlockBytes = 2 << 20 // more than all
	if got := s.table(); got.rows != 1 {
		t.Errorf("%+v", got)
	}
}

func TestDatafilesAreBesideThoseOfTheDatabase(t *testing.T) {
	for system, want := range map[string]string{
		"/opt/oracle/oradata/FREE/FREEPDB1/system01.dbf":       "/opt/oracle/oradata/FREE/FREEPDB1/nfsbench_slob_01.dbf",
		"+DATA/ORCL/0123ABC/DATAFILE/system.257.1100000000":    "+DATA",
		"/u02/ORCL/0123ABC/datafile/o1_mf_system_k1b2c3d4.dbf": "/u02/ORCL/0123ABC/datafile/nfsbench_slob_01.dbf",
	} {
		if got := fileBeside(system, "SLOB"); got != want {
			t.Errorf("beside %s: %s, want %s", system, got, want)
		}
	}
}

func TestTablespacesHaveRoomForMoreThanTheData(t *testing.T) {
	if got := tablespaceMebi(160 << 20); got != 160+10+64 {
		t.Error(got)
	}
}
