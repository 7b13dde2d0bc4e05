// Command pack makes a container image out of one static binary, without
// Docker, without a registry and without a base image. The archive that it
// writes is what `ctr images import`, `docker load` and `kind load
// image-archive` read. The same input gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	var (
		binary  = flags.String("binary", "", "static `file` that becomes the entry point")
		name    = flags.String("name", "", "image `reference`, for example nfsbench/manager:dev")
		out     = flags.String("o", "", "archive `file` to write")
		user    = flags.String("user", "65532:65532", "`uid:gid` that the container runs as")
		arch    = flags.String("arch", runtime.GOARCH, "`architecture` that the binary is for")
		license = flags.String("license", "", "text `file` to add as /LICENSE")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *binary == "" || *name == "" || *out == "" || flags.NArg() != 0 {
		return fmt.Errorf("-binary, -name and -o are required, and nothing else may follow")
	}
	files, err := contents(*binary, *license)
	if err != nil {
		return err
	}
	archive, err := image{
		name: *name, user: *user, arch: *arch, entrypoint: "/" + filepath.Base(*binary), files: files,
	}.archive()
	if err != nil {
		return fmt.Errorf("pack %q: %w", *name, err)
	}
	return write(*out, archive)
}

// contents is the whole root file system of the image.
func contents(binary, license string) ([]file, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/\nnonroot:x:65532:65532:nonroot:/tmp:/\n")},
		{name: "tmp/", mode: 0o1777},
		{name: filepath.Base(binary), mode: 0o755, data: program},
	}
	if license == "" {
		return files, nil
	}
	text, err := os.ReadFile(license)
	if err != nil {
		return nil, err
	}
	return append(files, file{name: "LICENSE", mode: 0o644, data: text}), nil
}

// write replaces path in one step, so that a reader never sees half an archive.
func write(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
