package oraclesuite

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
)

// imageFiles are the files of an image that a start of it depends on.
var imageFiles = regexp.MustCompile(`^(etc/(mtab|passwd|group)|bin|sbin|lib64|(usr/)?s?bin/[^/]+|usr/local/bin/[^/]+|.*\.sh[^/]*|` +
	`.*/bin/(oracle|oradism)|.*/lib/libnfsodm[^/]*|.*/rdbms/lib/(ins_rdbms\.mk|odm/[^/]*))$`)

const (
	mostOfText    = 256 << 10
	mostOfProgram = 4 << 10 // the beginning is enough
)

// ImageReport writes the report of an image from its files, a tar archive. Nothing of it is executed.
// The environment is that of the image; empty = that of Oracle's images.
func ImageReport(w io.Writer, files io.Reader, env []string, program, image string) error {
	root, err := os.MkdirTemp("", "nfsbench-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	owners, err := unpack(root, files)
	if err != nil {
		return fmt.Errorf("read the files of the image: %w", err)
	}
	if len(env) == 0 {
		env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	checks := supervise.ExamineImage(supervise.Options{Root: root, Owners: owners, Env: env})
	fmt.Fprintf(w, "# Report of make test-oracle-image\n\n%s\n| what | value |\n|---|---|\n| nfsbench | %s |\n| image | %s |\n", nothingOfYours,
		plain(program), publicImage(image))
	for _, c := range checks {
		fmt.Fprintf(w, "| %s | %s: %s |\n", c.Check, c.Result, strings.ReplaceAll(strings.ReplaceAll(c.Message, root, ""), "|", " "))
	}
	return nil
}

// unpack writes the files to root, and returns who owns them in the archive.
func unpack(root string, files io.Reader) (owners map[string]int64, err error) {
	dir, err := os.OpenRoot(root) // no link leads out of it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	owners = map[string]int64{}
	archive := tar.NewReader(files)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		h.Name = strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if !imageFiles.MatchString(h.Name) || h.Typeflag == tar.TypeDir {
			continue
		}
		if err := unpackFile(dir, h, archive); err != nil {
			return nil, err
		}
		owners[filepath.Join(root, h.Name)] = int64(h.Uid)
	}
	if len(owners) == 0 {
		return nil, errors.New("it is no tar archive of the file system of an image")
	}
	return owners, nil
}

func unpackFile(dir *os.Root, h *tar.Header, content io.Reader) error {
	if err := dir.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		target := h.Linkname
		if path.IsAbs(target) && !strings.HasPrefix(target, "/proc/") {
			target = dir.Name() + target
		}
		return dir.Symlink(target, h.Name)
	case tar.TypeLink:
		err := dir.Link(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"), h.Name)
		if errors.Is(err, os.ErrNotExist) {
			return nil // to a file that is left out
		}
		return err
	case tar.TypeReg:
	default:
		return nil
	}
	most := mostOfProgram
	if strings.Contains(h.Name, ".sh") || strings.HasPrefix(h.Name, "etc/") {
		most = mostOfText
	}
	text, err := io.ReadAll(io.LimitReader(content, int64(most)))
	if err == nil {
		err = dir.WriteFile(h.Name, text, 0o600)
	}
	return errors.Join(err, dir.Chmod(h.Name, h.FileInfo().Mode()))
}
