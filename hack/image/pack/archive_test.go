package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() image {
	return image{
		name: "nfsbench/x:dev", user: "65532:65532", arch: "amd64", workdir: "/tmp",
		entrypoint: []string{"/x"}, env: []string{"PATH=/"},
		files: []file{{name: "tmp/", mode: 0o1777}, {name: "x", mode: 0o755, data: []byte("program")}},
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	first, err := sample().archive()
	if err != nil {
		t.Fatal(err)
	}
	second, err := sample().archive()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two archives of one image differ")
	}
	for name, h := range headers(t, first) {
		if !h.ModTime.Equal(epoch()) {
			t.Errorf("%s has the time %s: it would change with each build", name, h.ModTime)
		}
	}
}

func TestTheArchiveSaysHowToRunTheImage(t *testing.T) {
	archive, err := sample().archive()
	if err != nil {
		t.Fatal(err)
	}
	files := contentsOf(t, archive)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	unmarshal(t, files["manifest.json"], &manifest)
	if diff := cmp.Diff([]string{"nfsbench/x:dev"}, manifest[0].RepoTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	var config struct {
		Architecture string
		Config       struct {
			User       string
			Entrypoint []string
		}
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	unmarshal(t, files[manifest[0].Config], &config)
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/x" || config.Architecture != "amd64" {
		t.Errorf("config = %+v", config)
	}

	layer := files[manifest[0].Layers[0]]
	if want := "sha256:" + digest(layer); config.Rootfs.DiffIDs[0] != want {
		t.Errorf("diff id %s is not that of the layer, %s", config.Rootfs.DiffIDs[0], want)
	}
	if mode := headers(t, layer)["tmp/"].Mode; mode != 0o1777 {
		t.Errorf("/tmp has mode %o: users other than root could not write there", mode)
	}
}

func headers(t *testing.T, archive []byte) map[string]*tar.Header {
	t.Helper()
	found := map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = h
	}
}

func contentsOf(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func unmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// TestImagesHaveANumericUserThatIsNotRoot: without a user in the pod, the kubelet holds the
// one of the image to runAsNonRoot, and cannot do that with a name.
func TestImagesHaveANumericUserThatIsNotRoot(t *testing.T) {
	o, err := parse([]string{"-binary", "x", "-name", "x", "-o", "x"})
	if err != nil {
		t.Fatal(err)
	}
	if uid, _, _ := strings.Cut(o.user, ":"); !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(uid) {
		t.Errorf("-user is %q by default", o.user)
	}
	for _, file := range []string{"../Containerfile.manager", "../Containerfile.nfsbench"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nUSER "+o.user+"\n") {
			t.Errorf("%s has not USER %s", file, o.user)
		}
	}
}
