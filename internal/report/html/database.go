package html

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// databaseSection is what Oracle reports about itself.
func databaseSection(r runfile.Result, j judge.Judgement) section {
	s := section{ID: "database", Title: "Database"}
	s.add(block{Table: calibrationTable(j)})
	if j.Database == nil {
		return s
	}
	s.add(block{Table: serverTable(j.Database.Servers)}, block{Table: channelTable(j.Database.Channels)},
		block{Table: fileTable(j.Database.Files)}, block{Table: waitTable(r, j.Summary.Repetition)})
	return s
}

func calibrationTable(j judge.Judgement) *table {
	t := &table{Caption: "Calibration", Heads: heads(1, "Run", "Max IOPS", "Max MB/s", "Latency")}
	counted := 0
	for _, c := range j.Calibrations {
		name := "warm-up"
		if !c.Warmup {
			counted++
			name = fmt.Sprint(counted)
		}
		latency := unknown
		if c.ActualLatencyMilliseconds != nil {
			latency = fmt.Sprintf("%d ms", *c.ActualLatencyMilliseconds)
		}
		t.row(name, number(c.MaxIOPS), number(c.MaxMegabytesPerSecond), latency)
	}
	return t
}

func number(v *int64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprint(*v)
}

func serverTable(all []runfile.DNFSServer) *table {
	t := &table{Caption: "Servers of Direct NFS (V$DNFS_SERVERS)", Heads: heads(3, "Server", "Export", "Protocol", "rtmax", "wtmax")}
	for _, s := range all {
		t.row(s.Server, s.Export, cmp.Or(s.Version, unknown), size(s.ReadMaxBytes), size(s.WriteMaxBytes))
	}
	return t
}

func size(v int64) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprint(v)
}

func channelTable(all []runfile.DNFSChannel) *table {
	t := &table{Caption: "Channels of Direct NFS (V$DNFS_CHANNELS)", Heads: heads(2, "Server", "Path", "Instance", "Processes", "Sends", "Receives", "Reconnects")}
	for _, c := range all {
		t.row(c.Server, pathName(c.Local, c.Path), size(int64(c.Instance)), fmt.Sprint(c.Processes), fmt.Sprint(c.Sends), fmt.Sprint(c.Receives), fmt.Sprint(c.Reconnects))
	}
	return t
}

func fileTable(all []judge.DatabaseFile) *table {
	t := &table{Caption: "Data files (V$IOSTAT_FILE)", Heads: heads(2, "File", "Access", "Small reads", "Mean small read, µs", "Mean synchronous, µs")}
	for _, f := range all {
		t.row(fmt.Sprint(f.Number), f.AccessMethod, number(f.SmallReads), nanoseconds(f.SmallReadNanoseconds), nanoseconds(f.SmallSyncReadNanoseconds))
	}
	return t
}

func nanoseconds(ns *int64) string {
	if ns == nil {
		return unknown
	}
	return fmt.Sprintf("%d.%03d", *ns/1000, *ns%1000)
}

// waitTable is the wait events of the repetition that stands for all, of an AWR
// report where there is one.
func waitTable(r runfile.Result, index int32) *table {
	t := &table{Caption: "Wait events", Heads: heads(1, "Event", "Waits", "Seconds", "Mean, ms")}
	for _, c := range r.Clients {
		for _, rep := range c.Load.Repetitions {
			if rep.Index != index || rep.Oracle == nil {
				continue
			}
			t.waits(*rep.Oracle)
		}
	}
	return t
}

func (t *table) waits(w runfile.OracleWindow) {
	for _, row := range w.AWR {
		t.row(row.Event, fmt.Sprint(row.Waits), fmt.Sprintf("%g", row.Seconds), meanWait(row.Seconds, row.Waits))
	}
	for _, e := range w.Events {
		if len(w.AWR) == 0 && e.Waits > 0 {
			s := float64(e.Microseconds) / 1e6
			t.row(e.Name, fmt.Sprint(e.Waits), fmt.Sprintf("%.1f", s), meanWait(s, e.Waits))
		}
	}
}

func meanWait(seconds float64, waits int64) string {
	if waits <= 0 {
		return unknown
	}
	return fmt.Sprintf("%.2f", seconds/float64(waits)*1000)
}
