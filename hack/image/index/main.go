// Command index joins the images of one program for several processors into an OCI image
// layout, whose index is what a registry serves. The same input gives the same bytes, so
// the digest is known before anything is pushed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	digest, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// run writes the layout and returns the digest of its index.
func run(args []string) (v1.Hash, error) {
	flags := flag.NewFlagSet("index", flag.ContinueOnError)
	out := flags.String("o", "", "`folder` of the layout; it must not exist")
	if err := flags.Parse(args); err != nil {
		return v1.Hash{}, err
	}
	if *out == "" || flags.NArg() == 0 {
		return v1.Hash{}, errors.New("usage: index -o FOLDER ARCHIVE..., with one archive of hack/image/build.sh for each processor")
	}
	if _, err := os.Stat(*out); err == nil {
		return v1.Hash{}, fmt.Errorf("%s exists: remove it first", *out)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, archive := range flags.Args() {
		image, err := read(archive)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("read %s: %w", archive, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return v1.Hash{}, fmt.Errorf("read %s: %w", archive, err)
		}
		platform := &v1.Platform{OS: config.OS, Architecture: config.Architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		// A registry shows the annotations of what a tag names.
		index = mutate.Annotations(index, config.Config.Labels).(v1.ImageIndex) //nolint:forcetypeassert // Annotations returns the type that it takes
	}
	if _, err := layout.Write(*out, index); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", *out, err)
	}
	return index.Digest()
}

// read returns the image of an archive in the media types of OCI: a docker archive has those of
// Docker, and a manifest of both kinds is refused by some registries.
func read(archive string) (v1.Image, error) {
	docker, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return nil, err
	}
	config, err := docker.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := docker.Layers()
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, config.Config.Labels).(v1.Image), nil //nolint:forcetypeassert // Annotations returns the type that it takes
}
