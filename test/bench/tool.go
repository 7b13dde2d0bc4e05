package main

import (
	"fmt"
	"strconv"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

// programs says where the programs are. An empty one cannot take part.
type programs struct {
	Ours, Other, Fio, Reader, Cat, Iperf string
}

// missing lists the tools that cannot take part.
func (p programs) missing() map[string]bool {
	return map[string]bool{
		toolFio: p.Fio == "", toolReader: p.Reader == "", toolCat: p.Cat == "", toolIperf: p.Iperf == "",
	}
}

// scene is where a measurement takes place.
type scene struct {
	Netns  string   // of the server
	LIFs   []string // addresses of the server
	Export string
	Port   int // of iperf3's server
}

// job is everything that a command line is made of.
type job struct {
	entry
	Scene   scene
	Warmup  int // seconds
	Seconds int
	Output  string // a file of its own, for tools that write one
}

// addresses of the server that the job talks to.
func (j job) addresses() []string {
	if len(j.Links) == 0 {
		return []string{"127.0.0.1"}
	}
	var out []string
	for _, i := range j.Links {
		out = append(out, j.Scene.LIFs[i])
	}
	return out
}

// inside puts the command where the server's loopback is.
func (j job) inside(command []string) []string {
	if len(j.Links) == 0 {
		return append([]string{"ip", "netns", "exec", j.Scene.Netns}, command...)
	}
	return command
}

// directory holds the files of all jobs that have as many streams: the marker
// of nfsbench remembers the files of the last run only.
func (j job) directory() string { return fmt.Sprintf("bench-j%d", j.Work.Jobs) }

// files of nfsbench, which others read too.
func (j job) files() []string {
	var names []string
	for i := range j.Work.Jobs {
		names = append(names, fmt.Sprintf("c0-j%d.dat", i))
	}
	return names
}

func (j job) url() string {
	return "nfs://" + j.addresses()[0] + j.Scene.Export + "/" + j.directory()
}

// command is how a tool is called for a job.
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
	case toolCat:
		return j.inside([]string{p.Cat, j.url() + "/" + j.files()[0]}), nil
	case toolIperf:
		return iperfCommand(p.Iperf, j), nil
	default:
		return nil, fmt.Errorf("tool %q is unknown", j.Tool)
	}
}

// understand fills a sample from what a tool has written.
func understand(j job, output []byte, s *score.Sample) error {
	switch j.Tool {
	case toolOurs, toolOther:
		return parseOurs(output, s)
	case toolFio:
		return parseFio(output, s)
	case toolReader:
		return parseReader(output, s)
	case toolIperf:
		return parseIperf(output, s)
	default:
		return fmt.Errorf("tool %q is unknown", j.Tool)
	}
}

// writesFile tells whether a tool puts its result into job.Output instead of
// its standard output.
func writesFile(tool string) bool { return tool == toolFio }

func seconds(n int) string { return strconv.Itoa(n) + "s" }
