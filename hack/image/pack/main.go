// Command pack makes a container image out of programs and files, without
// Docker, without a registry and without a base image. The archive that it
// writes is what `ctr images import`, `docker load` and `kind load
// image-archive` read. The same input gives the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// options are the flags of pack.
type options struct {
	image
	binary, license, out string
	entries              []entry
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.files, err = contents(o.binary, o.license, o.entries); err != nil {
		return err
	}
	archive, err := o.archive()
	if err != nil {
		return fmt.Errorf("pack %q: %w", o.name, err)
	}
	return write(o.out, archive)
}

func parse(args []string) (options, error) {
	o := options{image: image{labels: map[string]string{}}}
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "program `file` that becomes /NAME and the entry point")
	flags.StringVar(&o.name, "name", "", "image `reference`, for example localhost/nfsbench/manager:dev")
	flags.StringVar(&o.out, "o", "", "archive `file` to write")
	flags.StringVar(&o.user, "user", "65532:65532", "`uid:gid` that the container runs as")
	flags.StringVar(&o.arch, "arch", runtime.GOARCH, "`architecture` that the programs are for")
	flags.StringVar(&o.workdir, "workdir", "/tmp", "`folder` that the container starts in")
	flags.StringVar(&o.license, "license", "", "text `file` to add as /LICENSE")
	flags.Func("file", "add `SOURCE=/TARGET[,mode=0755][,uid=0][,gid=0]`; a TARGET that ends in / is a folder, and SOURCE is empty then", func(s string) error {
		e, err := parseEntry(s)
		o.entries = append(o.entries, e)
		return err
	})
	flags.Func("link", "add the symbolic link `TO=/TARGET`", func(s string) error {
		e, err := parseLink(s)
		o.entries = append(o.entries, e)
		return err
	})
	flags.Func("label", "describe the image with `NAME=VALUE`", func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not NAME=VALUE", s)
		}
		o.labels[name] = value
		return nil
	})
	flags.Func("env", "set `NAME=VALUE` (default PATH=/)", func(s string) error { o.env = append(o.env, s); return nil })
	flags.Func("entrypoint", "one `word` of the command, instead of /NAME of -binary", func(s string) error { o.entrypoint = append(o.entrypoint, s); return nil })
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.name == "" || o.out == "" || flags.NArg() != 0 {
		return o, errors.New("-name and -o are required, and nothing else may follow the flags")
	}
	if len(o.entrypoint) == 0 {
		if o.binary == "" {
			return o, errors.New("-binary or -entrypoint is required: the image must start something")
		}
		o.entrypoint = []string{"/" + filepath.Base(o.binary)}
	}
	if len(o.env) == 0 {
		o.env = []string{"PATH=/"}
	}
	return o, nil
}

// write replaces path in one step, so that a reader never sees half an archive.
func write(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
