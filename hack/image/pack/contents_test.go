package main

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed runs the command and returns the image's configuration and its layer.
func packed(t *testing.T, args ...string) (config map[string]any, layer []byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.tar")
	if err := run(append(args, "-name", "nfsbench/x:dev", "-o", out)); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	files := contentsOf(t, archive)
	var manifest []struct {
		Config string
		Layers []string
	}
	unmarshal(t, files["manifest.json"], &manifest)
	unmarshal(t, files[manifest[0].Config], &config)
	return config["config"].(map[string]any), files[manifest[0].Layers[0]]
}

func source(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnImageHoldsSeveralFilesWithTheirOwnersAndModes(t *testing.T) {
	config, layer := packed(
		t, "-binary", source(t, "nfsbench", "first"),
		"-file", source(t, "loader", "second")+"=/oraload,mode=0755",
		"-file", source(t, "adm", "third")+"=/opt/oracle/home/bin/oradism,mode=4750,gid=54321",
		"-file", "=/opt/oracle/oradata/,uid=54321,gid=54321,mode=0700",
		"-file", source(t, "passwd", "oracle:x:54321:54321::/:/\n")+"=/etc/passwd",
		"-link", "../home/bin/oradism=/opt/oracle/run.sh",
		"-env", "PATH=/bin", "-env", "ORACLE_BASE=/opt/oracle", "-user", "54321:54321", "-label", "title=nfsbench", "-workdir", "/opt/oracle",
	)
	type attributes struct {
		Mode     int64
		UID, GID int
		Type     byte
		Link     string
	}
	got := map[string]attributes{}
	for name, h := range headers(t, layer) {
		got[name] = attributes{h.Mode, h.Uid, h.Gid, h.Typeflag, h.Linkname}
	}
	folder := attributes{0o755, 0, 0, tar.TypeDir, ""}
	want := map[string]attributes{
		"etc/": folder, "etc/group": {0o644, 0, 0, tar.TypeReg, ""}, "etc/passwd": {0o644, 0, 0, tar.TypeReg, ""},
		"tmp/": {0o1777, 0, 0, tar.TypeDir, ""}, "opt/": folder, "opt/oracle/": folder, "opt/oracle/home/": folder, "opt/oracle/home/bin/": folder,
		"nfsbench": {0o755, 0, 0, tar.TypeReg, ""}, "oraload": {0o755, 0, 0, tar.TypeReg, ""},
		"opt/oracle/home/bin/oradism": {0o4750, 0, 54321, tar.TypeReg, ""},
		"opt/oracle/oradata/":         {0o700, 54321, 54321, tar.TypeDir, ""},
		"opt/oracle/run.sh":           {0o777, 0, 0, tar.TypeSymlink, "../home/bin/oradism"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	files := contentsOf(t, layer)
	if string(files["oraload"]) != "second" || !strings.HasPrefix(string(files["etc/passwd"]), "oracle:") {
		t.Errorf("oraload %q, passwd %q", files["oraload"], files["etc/passwd"])
	}
	wantConfig := map[string]any{
		"User": "54321:54321", "WorkingDir": "/opt/oracle",
		"Entrypoint": []any{"/nfsbench"}, "Env": []any{"PATH=/bin", "ORACLE_BASE=/opt/oracle"},
		"Labels": map[string]any{"title": "nfsbench"},
	}
	if diff := cmp.Diff(wantConfig, config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestFoldersComeBeforeWhatIsInThem(t *testing.T) {
	files, err := contents("", "", []entry{{target: "/a/b/c/", mode: 0o755}, {target: "/a/d/", mode: 0o700}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	want := "etc/ etc/group etc/passwd tmp/ a/ a/b/ a/b/c/ a/d/"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestAnImageWithoutABinaryNeedsAnEntryPoint(t *testing.T) {
	config, _ := packed(t, "-entrypoint", "/opt/start", "-entrypoint", "--now")
	if diff := cmp.Diff([]any{"/opt/start", "--now"}, config["Entrypoint"]); diff != "" {
		t.Errorf("entry point (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"PATH=/"}, config["Env"]); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for name, args := range map[string][]string{
		"nothing to start": {"-name", "x", "-o", "y"},
		"no name":          {"-o", "y", "-entrypoint", "/x"},
		"no target":        {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "source"},
		"relative target":  {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "source=bin/x"},
		"folder of a file": {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "source=/bin/"},
		"file of nothing":  {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "=/bin/x"},
		"decimal mode":     {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "=/bin/,mode=0999"},
		"too many bits":    {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "=/bin/,mode=14750"},
		"unknown word":     {"-name", "x", "-o", "y", "-entrypoint", "/x", "-file", "=/bin/,owner=1"},
		"link to nothing":  {"-name", "x", "-o", "y", "-entrypoint", "/x", "-link", "=/bin/x"},
		"stray argument":   {"-name", "x", "-o", "y", "-entrypoint", "/x", "more"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
