package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// epoch stands in for every time in an image: real ones would make two builds of
// the same source differ.
func epoch() time.Time { return time.Unix(0, 0).UTC() }

// file is one entry of a tar archive. A name that ends in a slash is a folder,
// and one with a link is a symbolic link.
type file struct {
	name     string
	mode     int64
	uid, gid int
	data     []byte
	link     string
}

// image is what the archive describes: one layer and how to start it.
type image struct {
	name, user, arch, workdir string
	entrypoint, env           []string
	labels                    map[string]string
	files                     []file
}

// archive returns the image in the format that `docker save` writes.
func (i image) archive() ([]byte, error) {
	layer, err := pack(i.files)
	if err != nil {
		return nil, err
	}
	layerDigest := digest(layer)
	config, err := i.config(layerDigest)
	if err != nil {
		return nil, err
	}
	configName := digest(config) + ".json"
	layerName := layerDigest + "/layer.tar"
	manifest, err := json.Marshal([]map[string]any{{
		"Config": configName, "RepoTags": []string{i.name}, "Layers": []string{layerName},
	}})
	if err != nil {
		return nil, err
	}
	return pack([]file{
		{name: configName, mode: 0o644, data: config},
		{name: layerDigest + "/", mode: 0o755},
		{name: layerName, mode: 0o644, data: layer},
		{name: "manifest.json", mode: 0o644, data: manifest},
	})
}

// config returns the image configuration of the OCI image specification.
func (i image) config(layerDigest string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": i.arch,
		"os":           "linux",
		"created":      epoch(),
		"config": map[string]any{
			"User":       i.user,
			"Entrypoint": i.entrypoint,
			"Env":        i.env,
			"WorkingDir": i.workdir,
			"Labels":     i.labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + layerDigest}},
		"history": []map[string]any{{"created": epoch(), "created_by": "hack/image/pack"}},
	})
}

// pack writes files as a tar archive in which nothing depends on when or by
// whom it was made.
func pack(files []file) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		h := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.gid, Size: int64(len(f.data)),
			ModTime: epoch(), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case f.name[len(f.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
