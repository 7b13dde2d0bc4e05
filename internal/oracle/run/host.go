package run

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// seeMount writes down how the pod has mounted the volume of the database.
func (r *runner) seeMount(ctx context.Context) error {
	d := r.plan.Database
	if d.DataDirectory == "" || r.opt.Root == nil {
		return nil
	}
	mounts, err := procfs.Reader{Root: r.opt.Root}.Mounts()
	if err != nil {
		r.opt.Log.Warn("The mounts of the pod cannot be read", "error", err)
		return nil
	}
	m, found := procfs.MountOf(mounts, d.DataDirectory)
	if !found {
		return nil
	}
	if r.plan.Engine.RequireNFS && !m.IsNFS() {
		return oracle.Fail(runfile.FailureNotNFS, fmt.Sprintf(
			"%s is on %s (%s), which is not NFS; use a claim or class of NFS, or allow it", d.DataDirectory, m.Source, m.Type), nil)
	}
	facts := mountFacts(m)
	facts.DirectIO = d.DirectNFS || r.directIO(ctx)
	r.load.Mount = &facts
	return nil
}

// directIO says whether the database reads files past the page cache. Direct NFS
// always does.
func (r *runner) directIO(ctx context.Context) bool {
	var option string
	err := r.course.During(ctx, nil, func(ctx context.Context) error {
		values, err := r.admin.Parameters(ctx, []string{"filesystemio_options"})
		option = strings.ToUpper(values["filesystemio_options"])
		return err
	})
	if err != nil {
		r.opt.Log.Warn("The parameter filesystemio_options cannot be read", "error", err)
	}
	return option == "SETALL" || option == "DIRECTIO"
}

func mountFacts(m procfs.Mount) runfile.MountFacts {
	f := runfile.MountFacts{FilesystemType: m.Type, Source: m.Source, Options: m.Options}
	for _, o := range m.Options {
		key, value, _ := strings.Cut(o, "=")
		n, _ := strconv.ParseInt(value, 10, 64) // 0 where it is no number, which is unknown
		switch key {
		case "vers":
			f.NFSVersion = "NFSv" + value
			if value == "4" {
				f.NFSVersion = "NFSv4.0"
			}
		case "rsize":
			f.ReadSizeBytes = n
		case "wsize":
			f.WriteSizeBytes = n
		}
	}
	return f
}
