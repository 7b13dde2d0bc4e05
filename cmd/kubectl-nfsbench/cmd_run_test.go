package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestRunFromFlagsWritesNothingButWhatWasGiven(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"export": {
			"addresses are paths, and the defaults are the cluster's",
			[]string{"--export", "192.0.2.11,198.51.100.11:/vol/oradata"},
			`{protocol: {}, storage: {export: {path: /vol/oradata, servers: [192.0.2.11, 198.51.100.11]}}, workload: {raw: {pattern: Read}}}`,
		},
		"IPv6": {
			"colons of an address are not that before the path",
			[]string{"--export", "[2001:db8::1]:/x"},
			`{protocol: {}, storage: {export: {path: /x, servers: ['2001:db8::1']}}, workload: {raw: {pattern: Read}}}`,
		},
		"everything": {
			"each flag has its field",
			[]string{
				"--claim", "data", "--client", "kernel", "--nfs-version", "4.1", "--workload", "raw", "--pattern", "randwrite",
				"--clients", "4", "--duration", "2m",
			},
			`{protocol: {client: Kernel, version: NFSv4.1}, storage: {claim: {name: data}},
			  workload: {raw: {pattern: RandomWrite}}, clients: 4, run: {durationSeconds: 120}}`,
		},
		"calibrate": {
			"the I/O of a database, without one",
			[]string{"--claim", "data", "--workload", "calibrate"},
			`{protocol: {}, storage: {claim: {name: data}}, workload: {calibrate: {}}}`,
		},
		"scan": {
			"the access of SLOB is part of the name",
			[]string{"--claim", "data", "--workload", "slob-scan"},
			`{protocol: {}, storage: {claim: {name: data}}, workload: {slob: {access: FullTableScan}}}`,
		},
		"a class": {
			"four files of the default size would not fit",
			[]string{"--storage-class", "gold", "--size", "1Gi"},
			`{protocol: {}, storage: {storageClass: {name: gold, size: 1Gi}}, workload: {raw: {pattern: Read, fileSize: 128Mi}}}`,
		},
		"embedded": {
			"four files of the default size would not fit",
			[]string{"--embedded", "1Gi", "--paths", "2", "--pattern", "RandomRead"},
			`{protocol: {}, storage: {embedded: {size: 1Gi, paths: 2}}, workload: {raw: {pattern: RandomRead, fileSize: 128Mi}}}`,
		},
		"embedded copy": {
			"a copy has two files a job",
			[]string{"--embedded", "2Gi", "--pattern", "copy"},
			`{protocol: {}, storage: {embedded: {size: 2Gi}}, workload: {raw: {pattern: Copy, fileSize: 128Mi}}}`,
		},
		"select": {
			"the wrong LIF on purpose",
			[]string{"--claim", "data", "--paths", "remote"},
			`{protocol: {paths: {select: Remote}}, storage: {claim: {name: data}}, workload: {raw: {pattern: Read}}}`,
		},
		"explicit": {
			"one of the addresses",
			[]string{"--export", "a,b:/x", "--paths", "b"},
			`{protocol: {paths: {select: Explicit, explicit: [{path: b}]}}, storage: {export: {path: /x, servers: [a, b]}}, workload: {raw: {pattern: Read}}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newShell(t).run(append([]string{"run", "demo", "--dry-run=client", "-o", "yaml"}, c.args...)...).mustEnd(t, cli.ExitOK)
			var got, want map[string]any
			if err := yaml.Unmarshal([]byte(o.out), &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			want = map[string]any{"apiVersion": "nfsbench.io/v1alpha1", "kind": "NFSBenchmark", "metadata": map[string]any{"name": "demo"}, "spec": want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s:\n%s", c.reason, diff)
			}
		})
	}
}

func TestRunRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: x}\n---\napiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: y}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		in   string
		want string
	}{
		"a size of what": {[]string{"x", "--claim", "a", "--size", "1Gi"}, "", "--size goes with --storage-class"},
		"a class -w":     {[]string{"--storage-class", "a", "--watch"}, "", "or give a NAME"},
		"nothing":        {[]string{}, "", "nothing to run"},
		"no storage":     {[]string{"x"}, "", "0 of --export, --claim, --storage-class and --embedded"},
		"two storages":   {[]string{"x", "--claim", "a", "--embedded", "1Gi"}, "", "2 of --export, --claim, --storage-class and --embedded"},
		"bad export":     {[]string{"x", "--export", "server/path"}, "", "write SERVER:/PATH"},
		"empty server":   {[]string{"x", "--export", "a,,b:/x"}, "", "write SERVER:/PATH"},
		"bad client":     {[]string{"x", "--claim", "a", "--client", "nfs"}, "", "use DirectNFS, Kernel"},
		"paths a number": {[]string{"x", "--claim", "a", "--paths", "2"}, "", "All, Local, Remote, or the addresses"},
		"embedded paths": {[]string{"x", "--embedded", "1Gi", "--paths", "local"}, "", "how many addresses"},
		"no pattern":     {[]string{"x", "--claim", "a", "--workload", "slob-read", "--pattern", "Read"}, "", "--pattern is of --workload raw and does nothing with slob-read"},
		"bad dry run":    {[]string{"x", "--claim", "a", "--dry-run=yes"}, "", "use none, client or server"},
		"bad output":     {[]string{"x", "--claim", "a", "-o", "wide"}, "", "allowed formats are"},
		"watch dry":      {[]string{"x", "--claim", "a", "--dry-run=client", "--watch"}, "", "nothing to watch"},
		"both":           {[]string{"x", "-f", file}, "", "NAME and --watch are for one"},
		"flags and file": {[]string{"-f", file, "--clients", "2"}, "", "--clients does not go with -f"},
		"watch of two":   {[]string{"-f", file, "--watch"}, "", "has 2 objects"},
		"no such file":   {[]string{"-f", "/does/not/exist"}, "", "no such file"},
		"not ours":       {[]string{"-f", "-"}, "apiVersion: v1\nkind: Secret\n", "it has a Secret of v1"},
		"empty":          {[]string{"-f", "-"}, "# nothing\n", "no benchmark and no suite"},
		"twice a key":    {[]string{"-f", "-"}, "kind: A\nkind: B\n", `key "kind" already set`},
		"nameless":       {[]string{"-f", "-"}, "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\n", "no metadata.name: give NAME"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.in = c.in
			s.run(append([]string{"run"}, c.args...)...).mustEnd(t, cli.ExitBadInput).mustSay(t, c.want)
			var l v1alpha1.NFSBenchmarkList
			if err := s.client.List(t.Context(), &l); err != nil || len(l.Items) > 0 {
				t.Errorf("something was created all the same: %v %v", l.Items, err)
			}
		})
	}
}

func TestRunCreatesInTheNamespaceThatIsMeant(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("run", "demo", "--claim", "data").mustEnd(t, cli.ExitOK).mustSay(t, "nfsbenchmark.nfsbench.io/demo created\n")
	var b v1alpha1.NFSBenchmark
	s.get("demo", &b)
	if b.Spec.Storage.Claim == nil || b.Spec.Storage.Claim.Name != "data" {
		t.Errorf("created %+v", b.Spec.Storage)
	}
	s.run("run", "demo", "--claim", "data").mustEnd(t, cli.ExitBadInput).mustSay(t, `"demo" exists already`, "--generate-name")
	s.run("run", "demo2", "--claim", "data", "--dry-run=server").mustEnd(t, cli.ExitOK).mustSay(t, "(server dry run)")
	s.run("report", "demo2").mustEnd(t, cli.ExitBadInput)
	s.in = "apiVersion: nfsbench.io/v1alpha1\nkind: NFSBenchmark\nmetadata: {name: x, namespace: bench}\nspec: {}\n"
	s.run("run", "-f", "-", "-n", "other").mustEnd(t, cli.ExitBadInput).mustSay(t, `has namespace "bench" in the file and "other" in -n`)
	s.run("run", "y", "-f", "-", "-o", "name").mustEnd(t, cli.ExitOK).mustSay(t, "nfsbenchmark.nfsbench.io/y\n")
}

func TestRunOfAnExportedBenchmarkIsANewOne(t *testing.T) {
	t.Parallel()
	old, _ := finished(t, "demo", 1, gen.Suspended)
	old.ResourceVersion, old.Generation, old.Finalizers = "7", 2, []string{"nfsbench.io/cleanup"}
	old.Labels = map[string]string{v1alpha1.LabelSuite: "s", v1alpha1.LabelCell: "c", "team": "dba"}
	text, err := yaml.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t)
	s.in = string(text)
	o := s.run("run", "-f", "-", "--generate-name", "--dry-run=client", "-o", "yaml").mustEnd(t, cli.ExitOK)
	o.mustSay(t, "generateName: demo-", "team: dba", "path: /vol/oradata")
	for _, gone := range []string{"status", "uid", "resourceVersion", "finalizers", "suspend", v1alpha1.LabelSuite, v1alpha1.LabelCell, "name: demo\n"} {
		if strings.Contains(o.out, gone) {
			t.Errorf("%q is still there:\n%s", gone, o.out)
		}
	}
	s.in = "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ") + "\n"
	s.run("run", "-f", "-", "--dry-run=client", "-o", "name").mustEnd(t, cli.ExitOK).mustSay(t, "nfsbenchmark.nfsbench.io/demo\n")
}

// TestASuiteThatTheOperatorWouldRefuseIsNotCreated: the CRD cannot look into cells and schedules.
func TestASuiteThatTheOperatorWouldRefuseIsNotCreated(t *testing.T) {
	t.Parallel()
	const suite = `apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmarkSuite
metadata: {name: s}
spec:
  repetitions: 1
  schedule: {cron: "0 2 * * 0", timeZone: %s}
  template: {spec: {storage: {embedded: {size: 2Gi}}, workload: {raw: {pattern: Read, fileSize: 1Mi, jobs: 1, depth: 1}}}}
  axes: [{name: a, values: [{name: x, patch: {workload: {raw: {%s: 2}}}}]}]
`
	s := newShell(t)
	for text, says := range map[string]string{
		fmt.Sprintf(suite, "Europe/Wien", "depth"): `spec.schedule.timeZone "Europe/Wien" is no time zone`,
		fmt.Sprintf(suite, "Etc/UTC", "dept"):      "did you mean workload.raw.depth?",
	} {
		s.in = text
		s.run("run", "-f", "-").mustEnd(t, cli.ExitBadInput).mustSay(t, "the operator would refuse the suite, by version ", says)
		s.in = text
		s.run("doctor", "-f", "-").mustEnd(t, cli.ExitFailed).mustSay(t, "FAIL  suite", says)
		var all v1alpha1.NFSBenchmarkSuiteList
		if err := s.client.List(t.Context(), &all); err != nil || len(all.Items) > 0 {
			t.Errorf("suites: %v, %v", all.Items, err)
		}
	}
	s.in = fmt.Sprintf(suite, "Etc/UTC", "depth")
	s.run("doctor", "-f", "-").mustEnd(t, cli.ExitOK).mustSay(t, `OK    suite           "s" has 1 cell and 1 benchmark`)
	s.in = fmt.Sprintf(suite, "Etc/UTC", "depth")
	s.run("run", "-f", "-").mustEnd(t, cli.ExitOK)
}
