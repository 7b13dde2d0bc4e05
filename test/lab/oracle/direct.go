package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// directNFS is where Direct NFS finds a directory.
type directNFS struct {
	label  string // SVRNAME
	export string // DIRNAME
	below  string // of the directory in the export
	// definedIn is oranfstab or mtab.
	definedIn string
	config    nfs.Config
	info      nfs.FSInfo // of the first mount
}

type mount struct{ source, point, kind, options string }

// findDirectNFS decides as Oracle does when it starts: the library must be in place,
// oradism setuid root, and the first oranfstab of the search order must fit the mount
// table. Otherwise the kernel's mount silently carries the I/O: nil without an error.
func (i *Instance) findDirectNFS(ctx context.Context) (*directNFS, error) {
	library, _ := filepath.Glob(filepath.Join(i.cfg.Home, "rdbms/lib/odm/libnfsodm*.so"))
	if i.cfg.Home == "" || len(library) == 0 {
		return nil, nil
	}
	i.alert.linef("Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0")
	if !i.privileged() {
		i.alert.linef("Direct NFS: please check that oradism is setuid")
		return nil, nil
	}
	if i.cfg.Faults.Fallback {
		return nil, nil
	}
	return i.locate(ctx, i.cfg.Data)
}

// locate finds a directory in the oranfstab or the mount table.
func (i *Instance) locate(ctx context.Context, dir string) (*directNFS, error) {
	mounted, err := i.mountOf(dir)
	if err != nil || mounted == nil {
		return nil, err
	}
	for _, file := range []string{filepath.Join(i.cfg.Home, "dbs/oranfstab"), filepath.Join(i.cfg.Direct.Etc, "oranfstab")} {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		// One that cannot be read is an empty one, which Oracle refuses.
		if d := i.fromFile(text, mounted, dir); d != nil {
			return i.try(ctx, d, dir)
		}
		return nil, nil
	}
	if d := i.fromMount(mounted, dir); d != nil {
		return i.try(ctx, d, dir)
	}
	return nil, nil
}

// fromMount returns what Direct NFS finds without an oranfstab: the server of an NFSv3 mount, over
// one path, by its name in the mount table.
func (i *Instance) fromMount(m *mount, dir string) *directNFS {
	host, exported, ok := cutSource(m.source)
	below, inside := within(m.point, dir)
	if !ok || !inside || m.kind != "nfs" || !slices.Contains(strings.Split(m.options, ","), "vers=3") {
		return nil
	}
	d := i.directNFS(host, exported, below)
	d.config.Channels, d.definedIn = []nfs.Channel{{Path: host}}, "mtab"
	return d
}

// privileged says whether oradism may act as root, which only root can have
// arranged.
func (i *Instance) privileged() bool {
	if i.cfg.Direct.Privileged != nil {
		return i.cfg.Direct.Privileged()
	}
	info, err := os.Stat(filepath.Join(i.cfg.Home, "bin/oradism"))
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 || info.Mode()&os.ModeSetuid == 0 {
		return false
	}
	kept, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err != nil || kept == 0
}

// fromFile finds a directory in an oranfstab; nil where it is not, or the file is wrong.
func (i *Instance) fromFile(text []byte, m *mount, dir string) *directNFS {
	parsed, err := oranfstab.Parse(text)
	if err != nil {
		return nil
	}
	host, exported, _ := cutSource(m.source)
	for _, server := range parsed.Servers {
		for _, export := range server.Exports {
			// Oracle compares export and mount with the mount table, and leaves to the
			// kernel what differs.
			same := exported == export.Path && m.point == path.Clean(export.Mount) && (server.Name == host || len(server.Paths) > 0)
			if !strings.HasPrefix(m.kind, "nfs") {
				same = i.cfg.Direct.AnyMount
			}
			if below, ok := within(export.Mount, dir); ok && same {
				return i.fromServer(server, export, below)
			}
		}
	}
	return nil // other servers' file
}

// fromServer reads one block of an oranfstab, as far as our client supports it.
func (i *Instance) fromServer(server oranfstab.Server, export oranfstab.Export, below string) *directNFS {
	if v := server.EffectiveVersion(); v != oranfstab.NFSv3 || server.EffectiveSecurity(export) != oranfstab.SecuritySys {
		i.alert.linef("Direct NFS: the stand-in speaks NFSv3 with sys only, not %s: %s is left to the kernel", v, export.Path)
		return nil
	}
	d := i.directNFS(server.Name, export.Path, below)
	d.config.DontRoute = server.DontRoute
	for _, p := range server.Paths {
		d.config.Channels = append(d.config.Channels, nfs.Channel{Local: p.Local, Path: p.Path})
	}
	return d
}

func (i *Instance) directNFS(server, export, below string) *directNFS {
	gids, _ := os.Getgroups()
	cred := rpc.AuthSys{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	for _, g := range gids {
		cred.GIDs = append(cred.GIDs, uint32(g))
	}
	return &directNFS{label: server, export: export, below: below, definedIn: "oranfstab", config: nfs.Config{
		Server: server, Export: export, Credential: cred, Now: i.now, MountTimeout: 2 * time.Minute,
		NFSPort: i.cfg.Direct.NFSPort, MountPort: i.cfg.Direct.MountPort,
	}}
}

// try mounts once, and looks whether the export shows the files that the mount
// shows: a file that Oracle could not find over NFS it opens through the kernel.
func (i *Instance) try(ctx context.Context, d *directNFS, dir string) (*directNFS, error) {
	i.alert.linef("Direct NFS: attempting to mount %s on filer %s defined in %s", d.export, d.label, d.definedIn)
	client, err := nfs.Dial(ctx, d.config)
	if err != nil {
		i.alert.linef("Direct NFS: NFS3ERR 13 Permission denied. path %s mntport 0 nfsport 0: %v", d.config.Channels[0].Path, err)
		return nil, nil
	}
	defer func() { _ = client.Close() }()
	d.info = client.Info()
	// A name that was never there: servers remember which are not.
	probe := fmt.Sprintf(".nfsodm%s.%d", i.cfg.SID, i.now().UnixNano())
	word := fmt.Appendf(nil, "%d %d", os.Getpid(), i.now().UnixNano())
	full := filepath.Join(dir, probe)
	if err := os.WriteFile(full, word, 0o640); err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(full) }()
	v := &exported{client: client, below: d.below, ops: &dnfsOps{}}
	got := make([]byte, len(word))
	f, err := v.open(ctx, probe)
	if err == nil {
		err = f.readAt(ctx, got, 0)
	}
	if err != nil || !bytes.Equal(got, word) {
		i.alert.linef("Direct NFS: export %s of %s does not show %s", d.export, d.label, dir)
		return nil, nil
	}
	for n, c := range client.Channels() {
		i.alert.linef("Direct NFS: channel id [%d] path [%s] to filer [%s] via local [%s] is %s", n, c.Path, d.label, c.Local, strings.ToUpper(string(c.State)))
	}
	return d, nil
}

// connectVolume gives a process its way to the files of a directory: through the kernel where
// Direct NFS has not found it.
func (i *Instance) connectVolume(ctx context.Context, p *process, d *directNFS, dir string) (volume, error) {
	if d == nil {
		return mounted{dir, &i.kernel}, nil
	}
	client, err := nfs.Dial(ctx, d.config)
	if err != nil {
		return nil, ora(17500, "ODM err:ODM ERROR V4: %v", err)
	}
	return &exported{client: client, below: d.below, ops: &p.ops}, nil
}

func (i *Instance) mountOf(dir string) (*mount, error) {
	text, err := os.ReadFile(i.cfg.Direct.MountTable)
	if err != nil {
		return nil, err
	}
	var best *mount
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		point := strings.ReplaceAll(f[1], `\040`, " ")
		if _, ok := within(point, dir); ok && (best == nil || len(point) >= len(best.point)) {
			best = &mount{source: f[0], point: point, kind: f[2], options: f[3]}
		}
	}
	return best, nil
}

// within says where dir is below top.
func within(top, dir string) (below string, ok bool) {
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return strings.TrimPrefix(rel, "."), true
}

// cutSource takes server:/export apart; IPv6 addresses stand in brackets.
func cutSource(source string) (host, export string, ok bool) {
	at := strings.Index(source, ":/")
	if at < 0 {
		return "", "", false
	}
	return strings.Trim(source[:at], "[]"), source[at+1:], true
}
