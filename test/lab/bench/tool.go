package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// programs says where the programs are. An empty one cannot take part.
type programs struct {
	Ours, Other, Fio, Reader, Socket, Cat, Iperf string
}

type scene struct {
	Netns  string   // of the server
	LIFs   []string // addresses of the server
	Export string
	Port   int    // of iperf3's server
	Bare   int    // port of the server of the bare socket
	Relay  int    // port of the relay
	Folder string // of this machine, for placeDirectory
	PNFS   pnfsScene
}

// pnfsScene is the pNFS array.
type pnfsScene struct {
	Nodes  []string // addresses of its nodes
	Export string
}

// job is everything that a command line is made of.
type job struct {
	entry
	Scene   scene
	Warmup  int // seconds
	Seconds int
	Output  string // a file of its own, for tools that write one
}

func (j job) addresses() []string {
	if len(j.Links) == 0 {
		return []string{"127.0.0.1"}
	}
	all := j.Scene.LIFs
	if j.Place == placePNFS {
		all = j.Scene.PNFS.Nodes
	}
	var out []string
	for _, i := range j.Links {
		out = append(out, all[i])
	}
	return out
}

func (j job) export() string {
	if j.Place == placePNFS {
		return j.Scene.PNFS.Export
	}
	return j.Scene.Export
}

// onGanesha reports whether the files are those of NFS-Ganesha.
func (j job) onGanesha() bool {
	return j.Place == placeServer || j.Place == placeRelay || j.Place == placeCPU
}

// inside puts the command where the server's loopback is.
func (j job) inside(command []string) []string {
	if len(j.Links) == 0 && j.onGanesha() {
		return append([]string{"ip", "netns", "exec", j.Scene.Netns}, command...)
	}
	return command
}

// directory holds the files of all jobs with the same number of streams: nfsbench's marker
// remembers only the files of the last run.
func (j job) directory() string { return fmt.Sprintf("bench-j%d", j.Work.Jobs) }

func (j job) files() []string {
	var names []string
	for i := range j.Work.Jobs {
		names = append(names, fmt.Sprintf("c0-j%d.dat", i))
	}
	return names
}

// url is the URL of the directory. libnfs reads the NFS version from it.
func (j job) url() string {
	url := "nfs://" + j.addresses()[0] + j.export() + "/" + j.directory()
	switch {
	case j.NFS == v40:
		url += "?version=4"
	case j.Place == placeRelay:
		url += fmt.Sprintf("?nfsport=%d", j.Scene.Relay)
	}
	return url
}

func (p programs) command(j job) ([]string, error) {
	switch j.Tool {
	case toolOurs:
		return j.inside(oursCommand(p.Ours, j)), nil
	case toolOther:
		return j.inside(oursCommand(p.Other, j)), nil
	case toolFio:
		return j.inside(fioCommand(p.Fio, j)), nil
	case toolReader:
		return j.inside(readerCommand(p.Reader, j)), nil
	case toolSocket:
		return j.inside(socketCommand(p.Socket, j)), nil
	case toolCat:
		return j.inside([]string{p.Cat, j.url() + "/" + j.files()[0]}), nil
	case toolIperf:
		return iperfCommand(p.Iperf, j), nil
	default:
		return nil, fmt.Errorf("tool %q is unknown", j.Tool)
	}
}

func understand(j job, output []byte, s *score.Sample) error {
	switch j.Tool {
	case toolOurs, toolOther:
		return parseOurs(output, s)
	case toolFio:
		return parseFio(output, s)
	case toolReader, toolSocket:
		return parseReader(output, s)
	case toolIperf:
		return parseIperf(output, s)
	default:
		return fmt.Errorf("tool %q is unknown", j.Tool)
	}
}

// fioCommand reads the files that nfsbench made. A process of fio with a
// connection of its own works on each.
func fioCommand(program string, j job) []string {
	pattern := "read"
	if j.Work.random() {
		pattern = "randread"
	}
	where := []string{program, "--name=bench", "--ioengine=nfs", "--nfs_url=" + j.url()}
	if j.Place == placeDirectory {
		where = []string{program, "--name=bench", "--ioengine=" + j.How, "--direct=1", "--directory=" + filepath.Join(j.Scene.Folder, j.directory())}
	}
	how := []string{"--time_based", "--runtime=" + strconv.Itoa(j.Seconds), "--ramp_time=" + strconv.Itoa(j.Warmup)}
	if j.How == howTarget {
		how = j.targetFlags()
	}
	return slices.Concat(where, []string{
		"--filename_format=c0-j$jobnum.dat",
		"--size=" + strconv.Itoa(j.fileBytes()), "--rw=" + pattern, "--bs=" + strconv.FormatInt(j.Work.Block, 10),
		// Without a map of the blocks that were read already, which nfsbench does not keep either.
		"--norandommap=1", "--numjobs=" + strconv.Itoa(j.Work.Jobs), "--iodepth=" + strconv.Itoa(j.Work.Depth),
	}, how, []string{"--group_reporting", "--output-format=json", "--output=" + j.Output})
}

type fioReport struct {
	Jobs []struct {
		Error int `json:"error"`
		Depth int `json:"latency_depth"`
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
	switch {
	case group.Error != 0:
		return fmt.Errorf("fio ended with error %d", group.Error)
	case group.Read.Ops == 0 || group.Read.Runtime == 0:
		return errors.New("fio did nothing")
	}
	if s.Capacity != nil {
		s.Capacity.Depth = group.Depth
	}
	s.Seconds = float64(group.Read.Runtime) / 1000
	s.Bytes, s.Ops = group.Read.Bytes, group.Read.Ops
	s.CPUSeconds = new((group.User + group.System) / 100 * float64(group.Milliseconds) / 1000)
	percentile := func(name string) *int64 {
		if ns, ok := group.Read.Latency.Percentile[name]; ok {
			return new(ns / 1000)
		}
		return nil
	}
	s.P50Microseconds, s.P99Microseconds = percentile("50.000000"), percentile("99.000000")
	return nil
}

func oursCommand(program string, j job) []string {
	command := []string{program, "load", "--server", strings.Join(j.addresses(), ","), "--export", j.export()}
	if j.Place == placeDirectory {
		command = []string{program, "load", "--mount", j.Scene.Folder, "--allow-non-nfs"}
	}
	if j.NFS != "" {
		command = append(command, "--nfs-version", j.NFS)
	}
	if j.Place == placeRelay {
		command = append(command, "--nfs-port", strconv.Itoa(j.Scene.Relay))
	}
	return slices.Concat(command, []string{
		"--dir", j.directory(), "--pattern", j.Work.Pattern, "--block-size", strconv.FormatInt(j.Work.Block, 10),
		"--file-size", strconv.Itoa(j.fileBytes()), "--jobs", strconv.Itoa(j.Work.Jobs), "--depth", strconv.Itoa(j.Work.Depth),
		"--warmup", fmt.Sprintf("%ds", j.Warmup), "--duration", fmt.Sprintf("%ds", j.Seconds), "--baseline", "0s", "--cooldown", "0s",
		"--keep-files", "--progress", "none", "--output", "json",
	}, j.loadFlags())
}

// oneLoad reads a result file with one client whose load did not fail.
func oneLoad(output []byte) (runfile.Result, runfile.Load, error) {
	result, err := runfile.ReadResult(bytes.NewReader(output))
	if err != nil {
		return result, runfile.Load{}, fmt.Errorf("result of nfsbench: %w", err)
	}
	if len(result.Clients) != 1 {
		return result, runfile.Load{}, fmt.Errorf("result of nfsbench has %d clients, not 1", len(result.Clients))
	}
	load := result.Clients[0].Load
	if load.Failure != nil {
		return result, load, fmt.Errorf("nfsbench: %s: %s", load.Failure.Code, load.Failure.Message)
	}
	return result, load, nil
}

// parseOurs reads a result file. Its figures do not include fill, warm-up or verification.
func parseOurs(output []byte, s *score.Sample) error {
	_, load, err := oneLoad(output)
	if err != nil {
		return err
	}
	if load.Partial || len(load.Repetitions) != 1 {
		return fmt.Errorf("result of nfsbench has %d windows, partial: %v", len(load.Repetitions), load.Partial)
	}
	rep := load.Repetitions[0]
	s.Seconds = rep.End.Sub(rep.Start).Seconds()
	s.CPUSeconds = new(float64(rep.CPUMicroseconds) / 1e6)
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
	s.P50Microseconds, s.P99Microseconds = new(latencies.Percentile(50)), new(latencies.Percentile(99))
	return nil
}

// order is the name of the pattern in the other tools.
func (w work) order() string {
	if w.random() {
		return "random"
	}
	return "sequential"
}

// socketCommand reads the file of the first job.
func socketCommand(program string, j job) []string {
	command := []string{
		program, "read", j.Work.order(), strconv.FormatInt(j.Work.Block, 10), strconv.Itoa(j.Work.Depth),
		strconv.Itoa(j.Warmup), strconv.Itoa(j.Seconds), j.url(), j.files()[0],
	}
	if j.How == noFiles {
		command = append(command, strconv.Itoa(j.Scene.Bare))
	}
	return command
}

func readerCommand(program string, j job) []string {
	return append([]string{
		program, j.Work.order(), strconv.FormatInt(j.Work.Block, 10), strconv.Itoa(j.Work.Depth),
		strconv.FormatInt(j.Rate, 10), strconv.Itoa(j.Warmup), strconv.Itoa(j.Seconds), j.url(),
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
		return fmt.Errorf("report of the peer: %w", err)
	}
	if report.Ops == 0 {
		return errors.New("the peer did nothing")
	}
	s.Ops, s.Bytes, s.Seconds, s.CPUSeconds = report.Ops, report.Bytes, report.Seconds, new(float64(report.CPU)/1e6)
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
	got := report.End.Received
	switch {
	case report.Error != "":
		return fmt.Errorf("iperf3: %s", report.Error)
	case got.Bytes == 0 || got.Seconds <= 0:
		return errors.New("iperf3 received nothing")
	}
	s.Bytes, s.Seconds = got.Bytes, got.Seconds
	return nil
}
