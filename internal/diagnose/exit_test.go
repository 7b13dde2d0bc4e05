package diagnose

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestTheEndOfAContainerIsToldWithoutItsProgress(t *testing.T) {
	cases := map[string]struct {
		ended corev1.ContainerStateTerminated
		want  string
	}{
		"killed in the middle of a run": {
			corev1.ContainerStateTerminated{ExitCode: 137, Message: "4,\"span\":\"Fill\"}\n{\"time\":\"2026-01-02\",\"span\":\"Measure\"}\n"},
			"container loader of pod p ended: exit code 137 (killed by signal 9)",
		},
		"said why": {
			corev1.ContainerStateTerminated{ExitCode: 2, Message: "{\"span\":\"Connect\"}\nError: --plan is missing\n"},
			"container loader of pod p ended: exit code 2: Error: --plan is missing",
		},
		"said that all is well": {
			corev1.ContainerStateTerminated{ExitCode: 137, Message: "-22T01:07:29Z level=INFO msg=\"a path is up\"\ntime=2026-11-22T01:07:29Z level=WARN msg=\"a path is lost\"\n"},
			"container loader of pod p ended: exit code 137 (killed by signal 9): time=2026-11-22T01:07:29Z level=WARN msg=\"a path is lost\"",
		},
		"took too much memory": {
			corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"},
			"container loader of pod p ended: out of memory: raise spec.pods.resources.limits.memory, or lower jobs and depth",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitMessage("p", "loader", &tc.ended); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
