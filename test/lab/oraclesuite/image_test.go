package oraclesuite_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// imageTar is the file system of an image as an engine exports it: its files belong to others than
// who unpacks them.
func imageTar(t *testing.T, base, start string) string {
	t.Helper()
	home, path := base+"/product/19c/dbhome_1", filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for _, h := range []struct {
		tar.Header
		text string
	}{
		{tar.Header{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}, ""},
		{tar.Header{Name: "usr/bin/bash", Mode: 0o755}, "\x7fELF"},
		{tar.Header{Name: "usr/bin/su", Mode: 0o4755}, "\x7fELF"},
		{tar.Header{Name: "etc/passwd", Mode: 0o644}, "root:x:0:0::/root:\noracle:x:54321:54321::/home/oracle:/bin/bash\n"},
		{tar.Header{Name: "etc/mtab", Typeflag: tar.TypeSymlink, Linkname: "/proc/mounts"}, ""},
		{tar.Header{Name: base + "/" + start, Mode: 0o755, Uid: 54321}, ". " + base + "/" + start + ".orig\n"},
		{tar.Header{Name: base + "/checkDBStatus.sh", Mode: 0o755, Uid: 54321}, "#!/bin/bash\n"},
		{tar.Header{Name: home + "/bin/oracle", Mode: 0o6751, Uid: 54321}, "\x7fELF"},
		{tar.Header{Name: home + "/bin/oradism", Mode: 0o4750}, "\x7fELF"},
		{tar.Header{Name: home + "/lib/libnfsodm19.so", Mode: 0o644, Uid: 54321}, ""},
		{tar.Header{Name: home + "/secret", Mode: 0o644, Uid: 54321}, "hunter2"},
	} {
		h.Size = int64(len(h.text))
		if err := w.WriteHeader(&h.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(h.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheFilesOfAnImageAreReported, of one that an engine holds, of an archive and of a folder.
func TestTheFilesOfAnImageAreReported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ image, base, start, called string }{
		"engine":  {"container-registry.oracle.com/database/enterprise:19.3.0.0", "/u01", "run.sh", "container-registry.oracle.com/database/enterprise:19.3.0.0"},
		"archive": {"", "/opt/oracle", "runOracle.sh", "one of the user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMachine(t)
			image := imageTar(t, tc.base, tc.start)
			if tc.image != "" {
				if err := os.Rename(image, b.dir+"/image.tar"); err != nil {
					t.Fatal(err)
				}
				image = tc.image
			}
			out, err := b.script("image.sh", "IMAGE="+image)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			report := b.read("report.md")
			for _, want := range []string{
				"| image | " + tc.called + " |", "| start command | OK: " + tc.base + "/" + tc.start + " |", "| health script | OK: ",
				"the start command names no interpreter;", "make is not there; su is there;", "lib has libnfsodm19.so; rdbms/lib/odm has no libnfsodm*.so;",
				"/etc/mtab is a link to /proc/mounts;", "oracle are 54321:54321 |", "oradism is -rwsr-x--- |",
			} {
				if !strings.Contains(report, want) {
					t.Errorf("no %q in\n%s", want, report)
				}
			}
			if strings.Contains(report, "/tmp") || tc.image == "" && strings.Contains(report, image) {
				t.Errorf("the report has a path of this machine:\n%s", report)
			}
		})
	}
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	t.Parallel()
	b := newMachine(t)
	out, err := b.script("image.sh", "IMAGE="+t.TempDir())
	if err == nil || !strings.Contains(out, "no tar archive of the file system of an image") {
		t.Errorf("%v\n%s", err, out)
	}
}
