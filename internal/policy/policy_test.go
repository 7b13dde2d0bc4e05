package policy_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// backends is a policy with some, each of which lacks nothing but what it says.
func backends(members ...string) string {
	var out strings.Builder
	out.WriteString("backends:\n")
	for _, m := range members {
		line := "{" + m
		for name, value := range map[string]string{
			"managementLIF": "192.0.2.5", "svm": "svm1", "credentialsSecretName": "svm", "insecureSkipVerify": "true", "namespaces": "[a]",
		} {
			if !strings.Contains(m, name+":") {
				line += ", " + name + ": " + value
			}
		}
		out.WriteString("- " + line + "}\n")
	}
	return out.String()
}

func TestAPolicyWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"export: []": "unknown field",
		"exports: [{server: 192.0.2.0/99, path: /a, namespaces: [b]}]":  "exports[0].server",
		"exports: [{path: /a, namespaces: [b]}]":                        "exports[0].server is empty",
		"exports: [{server: a, path: a, namespaces: [b]}]":              "exports[0].path",
		"exports: [{server: a, path: /a/../b, namespaces: [b]}]":        "exports[0].path",
		"exports: [{server: a, path: /a/, namespaces: [b]}]":            "exports[0].path",
		"exports: [{server: a, path: /a}]":                              "exports[0].namespaces is empty",
		"embedded: {maxSize: large}":                                    "embedded.maxSize",
		backends("name: A"):                                             "backends[0].name",
		backends("name: a, svm: \"\""):                                  "has no managementLIF, svm",
		backends("name: a, storageDriverName: ontap-san"):               "backends[0].storageDriverName",
		backends("name: a, caBundle: x"):                                "backends[0].caBundle has no certificate",
		backends("name: a, insecureSkipVerify: false"):                  "backends[0] has no caBundle",
		backends("name: a, namespaces: []"):                             "backends[0].namespaces is empty",
		backends("name: a", "name: a"):                                  "backends[1].name",
		"storageClasses: [{namespaces: [a]}]":                           "storageClasses[0].name is empty",
		"storageClasses: [{name: a}]":                                   "storageClasses[0].namespaces is empty",
		"storageClasses: [{name: a, namespaces: [a], maxSize: big}]":    "storageClasses[0].maxSize",
		"limits: {resultBytes: 0}":                                      "limits.resultBytes",
		"limits: {maxHold: 30s}":                                        "limits.maxHold",
		"limits: {clients: 0}":                                          "limits.clients",
		"limits: {clients: 1}\n" + strings.Repeat("#", policy.MaxBytes): "more than",
	} {
		if _, err := policy.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestARunThatTakesTooLongIsToldWhatToChange(t *testing.T) {
	t.Parallel()
	p, day := policy.Default(), 24*time.Hour
	p.Upgrade = "helm x"
	for name, tc := range map[string]struct {
		took              time.Duration
		data, field, want string
	}{
		"as long as allowed": {day, "writing it takes a day", "workload.raw.fileSize", ""},
		"a long load":        {25 * time.Hour, "", "", "spec.run: the run may take 25h0m0s. The policy of this cluster allows a run at most 24h0m0s: shorten the run, or set run.timeoutSeconds, or ask an administrator to run: helm x --set policy.limits.maxHold=25h0m0s"},
		"large files": {
			25 * time.Hour, "writing it takes a day", "workload.raw.fileSize",
			"spec.workload.raw.fileSize: writing it takes a day. The policy of this cluster allows a run at most 24h0m0s: make workload.raw.fileSize smaller, or set run.timeoutSeconds",
		},
	} {
		got := ""
		if err := p.CheckTime(tc.took, tc.data, tc.field); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(backends("name: a")))
	f.Add([]byte(`{"exports":[{"server":"::/0","path":"/","namespaces":["*"]}],"limits":{"clients":-1}}`))
	f.Add([]byte("embedded: {maxSize: 9e999Ei}\n"))
	f.Add([]byte("exports: [&a {server: a, path: /a, namespaces: &n [x]}, *a, {<<: *a, namespaces: *n}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		memory.Bound(t, 256<<10+2048*len(text), func() {
			p, err := policy.Read(bytes.NewReader(text))
			if err == nil && (p.Limits.Clients < 1 || p.Embedded.MaxSize == "") {
				t.Errorf("%+v", p)
			}
		})
	})
}
