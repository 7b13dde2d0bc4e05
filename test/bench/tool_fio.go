package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

// fioCommand reads the files that nfsbench made. A process of fio with a
// connection of its own works on each.
func fioCommand(program string, j job) []string {
	pattern := "read"
	if j.Work.random() {
		pattern = "randread"
	}
	return []string{
		program, "--name=bench", "--ioengine=nfs", "--nfs_url=" + j.url(), "--filename_format=c0-j$jobnum.dat",
		"--size=" + strconv.Itoa(fileBytes), "--rw=" + pattern, "--bs=" + strconv.FormatInt(j.Work.Block, 10),
		// Without a map of the blocks that were read already, which nfsbench does not keep either.
		"--norandommap=1", "--numjobs=" + strconv.Itoa(j.Work.Jobs), "--iodepth=" + strconv.Itoa(j.Work.Depth),
		"--time_based", "--runtime=" + strconv.Itoa(j.Seconds), "--ramp_time=" + strconv.Itoa(j.Warmup),
		"--group_reporting", "--output-format=json", "--output=" + j.Output,
	}
}

// fioReport is what we need of fio's JSON.
type fioReport struct {
	Jobs []struct {
		Error int `json:"error"`
		Read  struct {
			Bytes   int64 `json:"io_bytes"`
			Ops     int64 `json:"total_ios"`
			Runtime int64 `json:"runtime"` // ms
			Latency struct {
				Percentile map[string]int64 `json:"percentile"`
			} `json:"clat_ns"`
		} `json:"read"`
		Milliseconds int64   `json:"job_runtime"` // summed over the processes
		User         float64 `json:"usr_cpu"`     // percent of that
		System       float64 `json:"sys_cpu"`
	} `json:"jobs"`
}

func parseFio(output []byte, s *score.Sample) error {
	if at := bytes.IndexByte(output, '{'); at > 0 { // complaints come first
		output = output[at:]
	}
	var report fioReport
	if err := json.NewDecoder(bytes.NewReader(output)).Decode(&report); err != nil {
		return fmt.Errorf("report of fio: %w", err)
	}
	if len(report.Jobs) != 1 {
		return fmt.Errorf("report of fio has %d groups, not 1", len(report.Jobs))
	}
	group := report.Jobs[0]
	if group.Error != 0 {
		return fmt.Errorf("fio ended with error %d", group.Error)
	}
	if group.Read.Ops == 0 || group.Read.Runtime == 0 {
		return errors.New("fio did nothing")
	}
	s.Seconds = float64(group.Read.Runtime) / 1000
	s.Bytes, s.Ops = group.Read.Bytes, group.Read.Ops
	cpu := (group.User + group.System) / 100 * float64(group.Milliseconds) / 1000
	s.CPUSeconds = &cpu
	percentile := func(name string) *int64 {
		ns, ok := group.Read.Latency.Percentile[name]
		if !ok {
			return nil
		}
		us := ns / 1000
		return &us
	}
	s.P50Microseconds, s.P99Microseconds = percentile("50.000000"), percentile("99.000000")
	return nil
}
