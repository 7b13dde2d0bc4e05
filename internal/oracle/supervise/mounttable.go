package supervise

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const maxMountTable = 4 << 20

// checkMountTable refuses Direct NFS if Oracle cannot see that a volume is on NFS. It compares /etc/mtab, where
// Oracle looks for its mounts, with the kernel's mounts. Some container runtimes do not create the file, so it
// depends on the image; without it Oracle silently uses the kernel's client.
func (o Options) checkMountTable() error {
	if m, err := o.mount(); !o.DirectNFS || err != nil || !m.IsNFS() || m.Point != filepath.Clean(o.DataDirectory) {
		return nil //nolint:nilerr // nothing to compare with
	}
	problem := "has no line with " + o.DataDirectory + " and the type nfs"
	text, err := o.readMountTable()
	if err != nil {
		problem = fmt.Sprintf("cannot be read by user %d (%v)", os.Getuid(), err)
	}
	export, shown := exportIn(text, o.DataDirectory)
	if !shown {
		return oracle.Failf(runfile.FailureDirectNFSMissing, "%s of the image %s, and Oracle looks there for the mounts of "+
			"Direct NFS: it would silently use the kernel's client; derive an image with RUN ln -sf /proc/self/mounts "+
			"/etc/mtab, or set protocol.client to Kernel", o.MountTable, problem)
	}
	oranfstab := o.Export != "" && o.Engine != nil && len(o.Engine.Channels) > 0
	if oranfstab && path.Clean(export) != path.Clean(o.Export) {
		return oracle.Failf(runfile.FailureDirectNFSMissing, "%s shows the export %q at %s, and the oranfstab has %q: "+
			"Oracle would silently use the kernel's client; the mount and the benchmark must name the same export",
			o.MountTable, clip(export), o.DataDirectory, clip(o.Export))
	}
	return nil
}

// exportIn returns the export that a mount table shows at a directory, if NFS is mounted there.
func exportIn(table []byte, directory string) (export string, shown bool) {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`)
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) > 2 && plain.Replace(fields[1]) == filepath.Clean(directory) && strings.HasPrefix(fields[2], "nfs") {
			_, export, _ = runfile.CutMountSource(plain.Replace(fields[0]))
			return export, true
		}
	}
	return "", false
}

func (o Options) readMountTable() ([]byte, error) {
	f, err := os.Open(o.MountTable) // it is usually a link
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxMountTable))
}

// mount returns the kernel's mount of the volume.
func (o Options) mount() (procfs.Mount, error) {
	f, err := shareddir.Open(filepath.Join(o.ProcDir, "self"), "mountinfo")
	if err != nil {
		return procfs.Mount{}, fmt.Errorf("look for the mount of the volume: %w", err)
	}
	defer func() { _ = f.Close() }()
	mounts, err := procfs.ParseMountInfo(f)
	if err != nil {
		return procfs.Mount{}, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	m, _ := procfs.MountOf(mounts, o.DataDirectory)
	return m, nil
}
