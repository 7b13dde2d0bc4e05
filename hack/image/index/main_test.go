package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// archive packs an image whose only program is this source file.
func archive(t *testing.T, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), arch+".tar")
	cmd := exec.Command("go", "run", "../pack", "-binary", "main.go", "-name", "localhost/x:dev", "-arch", arch, //nolint:gosec // constants
		"-label", "org.opencontainers.image.version=v1.2.3", "-o", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func TestAnIndexHasAValidImageForEachProcessor(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	digest, err := run([]string{"-o", folder, archive(t, "amd64"), archive(t, "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the index is not valid: %v", err)
	}
	if stored, err := index.Digest(); err != nil || stored != digest {
		t.Errorf("the layout has the index %v (%v), and the command printed %v", stored, err, digest)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	version := manifest.Annotations["org.opencontainers.image.version"]
	if version != "v1.2.3" || manifest.MediaType != types.OCIImageIndex {
		t.Errorf("the index has the version %q and the type %s", version, manifest.MediaType)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		requireOCI(t, index, m.Digest)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// requireOCI fails unless a manifest and all that it names have the media types of OCI.
func requireOCI(t *testing.T, index v1.ImageIndex, digest v1.Hash) {
	t.Helper()
	image, err := index.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	got := []types.MediaType{m.MediaType, m.Config.MediaType, m.Layers[0].MediaType}
	want := []types.MediaType{types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
}

func TestTheSameArchivesGiveTheSameDigest(t *testing.T) {
	first, err := run([]string{"-o", filepath.Join(t.TempDir(), "a"), archive(t, "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := run([]string{"-o", filepath.Join(t.TempDir(), "b"), archive(t, "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("two builds have the digests %v and %v", first, second)
	}
}
