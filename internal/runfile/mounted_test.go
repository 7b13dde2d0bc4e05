package runfile

import (
	"strings"
	"testing"
)

func TestTheSourceOfAMountIsAnExport(t *testing.T) {
	for source, want := range map[string]MountedExport{
		"192.0.2.1:/vol/data":             {"192.0.2.1", "/vol/data"},
		"[2001:db8::1]:/vol/data":         {"2001:db8::1", "/vol/data"},
		"filer-1.example.com:/":           {"filer-1.example.com", "/"},
		"overlay":                         {},
		"192.0.2.1":                       {},
		":/vol":                           {},
		"[2001:db8::1]":                   {},
		"[2001:db8::1:/vol":               {},
		"192.0.2.1:/vol data":             {},
		"192.0.2.1:/vol\npath: evil":      {},
		"-x:/vol":                         {},
		"a:/" + strings.Repeat("x", 1024): {},
	} {
		got, err := ParseMountedExport(source)
		if back := MountSource(got.Server, got.Path); err == nil && back != source {
			t.Errorf("MountSource of %+v is %q, want %q", got, back, source)
		}
		if (err == nil) != (want != MountedExport{}) || err == nil && got != want {
			t.Errorf("%.40q: %+v, %v; want %+v", source, got, err, want)
		}
	}
}

func TestATerminationMessageIsNotTrusted(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"server": "192.0.2.1", "path": "/vol"}`:          true,
		`{"server": "192.0.2.1\npath: x", "path": "/vol"}`: false,
		`{"server": "192.0.2.1", "path": "vol"}`:           false,
		`not NFS`:                                          false,
		`{"server": "192.0.2.1", "path": "/` + strings.Repeat("x", maxMountedBytes) + `"}`: false,
	} {
		if _, err := ReadMountedExport(strings.NewReader(text)); (err == nil) != ok {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
