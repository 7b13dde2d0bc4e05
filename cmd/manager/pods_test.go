package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDefaultsOfPodsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"priorityClassName: batch\ntolerations: [{key: bench, operator: Exists}]": "",
		"priorityClass: batch":        `"priorityClass"`,
		"image: registry.example/x:1": "image, imagePullSecrets and hostNetwork",
		"hostNetwork: Enabled":        "image, imagePullSecrets and hostNetwork",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: [1]}]": "whenUnsatisfiable",
		"securityContext: {supplementalGroups: [0]}":                                           "supplementalGroups",
	} {
		file := filepath.Join(t.TempDir(), "pods.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pods, err := readPodDefaults(file)
		switch {
		case want == "" && (err != nil || pods.PriorityClassName != "batch"):
			t.Errorf("%s: %+v, %v", text, pods, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error with %s", text, err, want)
		}
	}
}
