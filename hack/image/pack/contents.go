package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// entry is what a -file or -link asks for.
type entry struct {
	source, target string
	link           string // to where, for a symbolic link
	mode           int64
	uid, gid       int
}

// parseEntry reads SOURCE=/TARGET[,mode=0755][,uid=0][,gid=0].
func parseEntry(text string) (entry, error) {
	source, rest, ok := strings.Cut(text, "=")
	parts := strings.Split(rest, ",")
	e := entry{source: source, target: parts[0], mode: 0o644}
	if e.isFolder() {
		e.mode = 0o755
	}
	if !ok || !strings.HasPrefix(e.target, "/") || e.isFolder() != (source == "") {
		return e, fmt.Errorf("%q is not SOURCE=/TARGET, nor =/FOLDER/", text)
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		base := 10
		if name == "mode" {
			base = 8
		}
		n, err := strconv.ParseUint(value, base, 31)
		switch {
		case err != nil:
			return e, fmt.Errorf("%q in %q is no number", p, text)
		case name == "mode" && n <= 0o7777:
			e.mode = int64(n)
		case name == "uid":
			e.uid = int(n)
		case name == "gid":
			e.gid = int(n)
		default:
			return e, fmt.Errorf("%q in %q is none of mode, uid and gid", p, text)
		}
	}
	return e, nil
}

// parseLink reads TO=/TARGET.
func parseLink(text string) (entry, error) {
	to, target, ok := strings.Cut(text, "=")
	if !ok || to == "" || !strings.HasPrefix(target, "/") || strings.HasSuffix(target, "/") {
		return entry{}, fmt.Errorf("%q is not TO=/TARGET", text)
	}
	return entry{link: to, target: target, mode: 0o777}, nil
}

func (e entry) isFolder() bool { return strings.HasSuffix(e.target, "/") }

// file reads what the entry names.
func (e entry) file() (file, error) {
	f := file{name: strings.TrimPrefix(path.Clean(e.target), "/"), mode: e.mode, uid: e.uid, gid: e.gid, link: e.link}
	switch {
	case e.link != "":
		return f, nil
	case e.isFolder():
		f.name += "/"
		return f, nil
	}
	var err error
	f.data, err = os.ReadFile(e.source)
	return f, err
}

// contents is the whole root file system of the image. An entry replaces what
// would be there by itself, and the folders above it are made.
func contents(binary, license string, entries []entry) ([]file, error) {
	files := []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/\nnonroot:x:65532:65532:nonroot:/tmp:/\n")},
		{name: "tmp/", mode: 0o1777},
	}
	if binary != "" {
		entries = append([]entry{{source: binary, target: "/" + filepath.Base(binary), mode: 0o755}}, entries...)
	}
	if license != "" {
		entries = append(entries, entry{source: license, target: "/LICENSE", mode: 0o644})
	}
	for _, e := range entries {
		f, err := e.file()
		if err != nil {
			return nil, err
		}
		files = place(files, f)
	}
	return files, nil
}

// place puts a file where one of its name is, or behind the folders above it.
func place(files []file, f file) []file {
	has := func(name string) int {
		return slices.IndexFunc(files, func(o file) bool { return o.name == name })
	}
	if i := has(f.name); i >= 0 {
		files[i] = f
		return files
	}
	for i, r := range f.name[:len(f.name)-1] {
		if folder := f.name[:i+1]; r == '/' && has(folder) < 0 {
			files = append(files, file{name: folder, mode: 0o755})
		}
	}
	return append(files, f)
}
