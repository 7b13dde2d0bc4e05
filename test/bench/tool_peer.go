package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

func readerCommand(program string, j job) []string {
	pattern := "sequential"
	if j.Work.random() {
		pattern = "random"
	}
	return append([]string{
		program, pattern, strconv.FormatInt(j.Work.Block, 10), strconv.Itoa(j.Work.Depth),
		strconv.Itoa(j.Warmup), strconv.Itoa(j.Seconds), j.url(),
	}, j.files()...)
}

func parseReader(output []byte, s *score.Sample) error {
	var report struct {
		Ops     int64   `json:"ops"`
		Bytes   int64   `json:"bytes"`
		Seconds float64 `json:"seconds"`
		CPU     int64   `json:"cpuMicroseconds"`
		P50     int64   `json:"p50Microseconds"`
		P99     int64   `json:"p99Microseconds"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return fmt.Errorf("report of the libnfs reader: %w", err)
	}
	if report.Ops == 0 {
		return errors.New("the libnfs reader did nothing")
	}
	cpu := float64(report.CPU) / 1e6
	s.Ops, s.Bytes, s.Seconds, s.CPUSeconds = report.Ops, report.Bytes, report.Seconds, &cpu
	s.P50Microseconds, s.P99Microseconds = &report.P50, &report.P99
	return nil
}

// iperfCommand pours in the direction of the work: reads go from the server to
// the client, which iperf3 calls reverse.
func iperfCommand(program string, j job) []string {
	command := []string{
		program, "-c", j.addresses()[0], "-p", strconv.Itoa(j.Scene.Port),
		"-t", strconv.Itoa(j.Seconds), "-O", strconv.Itoa(j.Warmup), "-J",
	}
	if j.Work.Pattern != "overwrite" {
		command = append(command, "-R")
	}
	return command
}

// parseIperf takes what the receiver counted: payload that has arrived.
func parseIperf(output []byte, s *score.Sample) error {
	var report struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				Bytes   int64   `json:"bytes"`
				Seconds float64 `json:"seconds"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return fmt.Errorf("report of iperf3: %w", err)
	}
	if report.Error != "" {
		return fmt.Errorf("iperf3: %s", report.Error)
	}
	got := report.End.Received
	if got.Bytes == 0 || got.Seconds <= 0 {
		return errors.New("iperf3 received nothing")
	}
	s.Bytes, s.Seconds = got.Bytes, got.Seconds
	return nil
}
