package supervise

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestAStartFileWithoutAnInterpreterIsExecutedAsTheImageDoes: the Enterprise images of Oracle's
// registry have one of two lines that source others. Its trap must still get SIGTERM.
func TestAStartFileWithoutAnInterpreterIsExecutedAsTheImageDoes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*image){
		"the image's own": func(*image) {},
		"of the user":     func(i *image) { i.o.StartCommand = []string{i.base + "/runOracle.sh"} },
		"the health script too": func(i *image) {
			i.write(i.base+"/checkDBStatus.sh", 0o755, strings.TrimPrefix(healthScript, "#!/bin/sh\n"))
		},
		"a health script of the user": func(i *image) {
			i.write(i.base+"/healthy", 0o755, strings.TrimPrefix(healthScript, "#!/bin/sh\n"))
			i.o.HealthCommand = []string{i.base + "/healthy", "--deep"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.write(i.base+"/runOracle.sh.k8s", 0o644, "echo \"Acquiring lock of $0 ($$)\"\n")
			i.write(i.base+"/runOracle.sh.orig", 0o755, startScript)
			i.write(i.base+"/runOracle.sh", 0o755, ". "+i.base+"/runOracle.sh.k8s\n. "+i.base+"/runOracle.sh.orig\n")
			change(i)
			for _, check := range []string{checkStart, checkHealth} {
				expect(t, Examine(t.Context(), i.o), check, runfile.CheckOK)
			}
			r := i.start()
			r.await("ready", func(s runfile.DatabaseState) bool {
				if s.State == runfile.DatabaseFailed {
					t.Fatalf("%+v", s.Failure)
				}
				return s.State == runfile.DatabaseReady
			})
			r.ends()
			if n := i.lines(i.base + "/shutdowns"); n != 1 || !strings.Contains(i.out.String(), "Acquiring lock of "+i.base+"/runOracle.sh (") {
				t.Errorf("%d shutdowns in order, want 1\n%s", n, i.out)
			}
		})
	}
}

// TestAnInterpreterThatTheImageLacksIsNamed, by the run and by the examination.
func TestAnInterpreterThatTheImageLacksIsNamed(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"#!/usr/bin/ksh93u", "#! /usr/bin/ksh93u -e", "#!/bin/bash\r"} {
		i := newImage(t)
		i.write(i.base+"/runOracle.sh", 0o755, first+"\necho x\n")
		f := i.fails(runfile.FailureDatabaseNotReady)
		if !strings.Contains(f.Message, "runOracle.sh") || !strings.Contains(f.Message, "which the image does not have") {
			t.Errorf("%q: %s", first, f.Message)
		}
		expect(t, Examine(t.Context(), i.o), checkStart, runfile.CheckFail, "which the image does not have")
	}
}
