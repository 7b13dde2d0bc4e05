package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/bench/score"
)

func oursCommand(program string, j job) []string {
	return []string{
		program, "load", "--server", strings.Join(j.addresses(), ","), "--export", j.Scene.Export, "--dir", j.directory(),
		"--pattern", j.Work.Pattern, "--block-size", strconv.FormatInt(j.Work.Block, 10),
		"--file-size", strconv.Itoa(fileBytes), "--jobs", strconv.Itoa(j.Work.Jobs), "--depth", strconv.Itoa(j.Work.Depth),
		"--warmup", seconds(j.Warmup), "--duration", seconds(j.Seconds), "--baseline", "0s", "--cooldown", "0s",
		"--keep-files", "--progress", "none", "--output", "json",
	}
}

// parseOurs reads a result file. Fill, warm-up and verification are outside of
// the window and in none of its figures.
func parseOurs(output []byte, s *score.Sample) error {
	result, err := runfile.ReadResult(bytes.NewReader(output))
	if err != nil {
		return fmt.Errorf("result of nfsbench: %w", err)
	}
	if len(result.Clients) != 1 {
		return fmt.Errorf("result of nfsbench has %d clients, not 1", len(result.Clients))
	}
	load := result.Clients[0].Load
	if load.Failure != nil {
		return fmt.Errorf("nfsbench: %s: %s", load.Failure.Code, load.Failure.Message)
	}
	if load.Partial || len(load.Repetitions) != 1 {
		return fmt.Errorf("result of nfsbench has %d windows, partial: %v", len(load.Repetitions), load.Partial)
	}
	rep := load.Repetitions[0]
	s.Seconds = rep.End.Sub(rep.Start).Seconds()
	cpu := float64(rep.CPUMicroseconds) / 1e6
	s.CPUSeconds = &cpu
	s.PeakMemoryBytes = max(s.PeakMemoryBytes, rep.PeakMemoryBytes)
	var histograms []string
	for _, ops := range []*runfile.Ops{rep.Read, rep.Write} {
		if ops == nil {
			continue
		}
		if ops.Errors > 0 {
			return fmt.Errorf("nfsbench counted %d errors", ops.Errors)
		}
		s.Ops += ops.Count
		s.Bytes += ops.Bytes
		histograms = append(histograms, ops.Histogram)
	}
	latencies, err := stats.MergeEncoded(histograms...)
	if err != nil {
		return fmt.Errorf("latencies of nfsbench: %w", err)
	}
	if latencies.Count() == 0 {
		return fmt.Errorf("nfsbench did nothing in %.1f s", s.Seconds)
	}
	p50, p99 := latencies.Percentile(50), latencies.Percentile(99)
	s.P50Microseconds, s.P99Microseconds = &p50, &p99
	return nil
}
