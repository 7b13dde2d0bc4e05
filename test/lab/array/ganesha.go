package array

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/template"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// ganeshaConfig is that of all three servers: of NFSv3 on each node, and of NFSv4. With
// the same exports over the same folders all give the same file handles. What one
// remembers of attributes and names would be wrong after another was asked, so none
// remembers any. Pseudo is the path of NFSv4, and with mount_path_pseudo that of MOUNT. Without
// an owner of its own a server has the name of the machine, and is one with all others there.
const ganeshaConfig = `NFS_CORE_PARAM {
	Bind_addr = {{.Address}};
	NFS_Port = {{.Port}};
	MNT_Port = 20048;
	NFS_Protocols = {{.Protocols}};
	Enable_NLM = false;
	Enable_RQUOTA = false;
	mount_path_pseudo = true;
}
NFSv4 {
	Graceless = true;
	RecoveryBackend = fs;
	RecoveryRoot = "{{.Recovery}}";
	Minor_Versions = 0, 1;
	PNFS_MDS = false;
	PNFS_DS = false;
	Server_Owner = "{{.Name}}";
	Server_Scope = "{{.Name}}";
}
MDCACHE { Dir_Chunk = 0; }
EXPORT_DEFAULTS {
	Protocols = {{.Protocols}};
	Transports = TCP, UDP;
	SecType = sys;
	Squash = No_Root_Squash;
	Attr_Expiration_Time = 0;
}
{{range .Volumes}}EXPORT {
	Export_Id = {{.Export}};
	Path = "{{.Folder}}";
	Pseudo = {{.Junction}};
	Access_Type = RW;
	MaxRead = 1048576;
	MaxWrite = 1048576;
	PrefRead = 1048576;
	PrefWrite = 1048576;
	FSAL { Name = VFS; }
}
{{end}}LOG { Default_Log_Level = WARN; }
`

// Export is the Export_Id of NFS-Ganesha, which is in every file handle.
func (v Volume) Export() uint16 { return v.export }

// ganesha is what tells the servers apart.
type ganesha struct {
	Name      string // of its files
	Address   string
	Port      string
	Protocols string
}

func (n *node) server() ganesha { return ganesha{n.name, n.cluster, "2049", "3"} }

func (a *Array) writeGaneshaConfig(g ganesha) error {
	var b bytes.Buffer
	err := template.Must(template.New("ganesha").Parse(ganeshaConfig)).Execute(&b, struct {
		ganesha
		Recovery string
		Volumes  []Volume
	}{g, a.recoveryPath(g), a.Volumes()})
	return errors.Join(err, os.WriteFile(a.ganeshaPath(g), b.Bytes(), 0o644))
}

func (a *Array) ganeshaPath(g ganesha) string  { return filepath.Join(a.dir, g.Name+".conf") }
func (a *Array) recoveryPath(g ganesha) string { return filepath.Join(a.dir, "recovery-"+g.Name) }
func (a *Array) bladePath() string             { return filepath.Join(a.dir, "nblade") }

func makeFolder(v Volume) error {
	if err := os.MkdirAll(v.Folder, 0o777); err != nil {
		return err
	}
	// Clients are anybody: a load pod is user 65532.
	return os.Chmod(v.Folder, 0o777|os.ModeSticky)
}

// ganeshaCommand writes what a server reads when it starts, and returns how to start it.
func (a *Array) ganeshaCommand(g ganesha) ([]string, error) {
	if err := os.MkdirAll(a.recoveryPath(g), 0o755); err != nil {
		return nil, err
	}
	return []string{
		"ganesha.nfsd", "-F", "-f", a.ganeshaPath(g), "-L", filepath.Join(a.dir, "log", g.Name+"-nfsd.log"),
		"-p", filepath.Join(a.dir, g.Name+".pid"),
	}, a.writeGaneshaConfig(g)
}

func (a *Array) startNode(ctx context.Context, n *node) error {
	command, err := a.ganeshaCommand(n.server())
	if err != nil {
		return err
	}
	// rpcbind keeps its socket in /run; a tmpfs of its own keeps it apart from this
	// machine's. It answers for the LIF as well: the ports are the same.
	n.rpcbind, err = a.launch(n.name, "rpcbind", "ip", "netns", "exec", n.netns, "unshare", "-m", "sh", "-c",
		"mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/rpcbind /run/ganesha && chmod 1777 /run/rpcbind && exec rpcbind -f")
	if err != nil {
		return err
	}
	inside := "/proc/" + strconv.Itoa(n.rpcbind.id.PID) + "/root"
	if err := until(ctx, func() error { return n.rpcbind.has(inside + "/run/rpcbind.sock") }); err != nil {
		return err
	}
	// Both start in one second, which is all that tells their write verifiers apart.
	epoch := strconv.FormatInt(a.options.Now().Unix()+int64(slices.Index(a.nodes, n)), 10)
	enter := []string{"nsenter", "-t", strconv.Itoa(n.rpcbind.id.PID), "-m", "-n"}
	if n.ganesha, err = a.launch(n.name, "ganesha", slices.Concat(enter, command, []string{"-E", epoch})...); err != nil {
		return err
	}
	return a.startBlade(ctx, n)
}

// has reports whether the process has made a file, or why it never will.
func (p *process) has(file string) error {
	select {
	case <-p.gone:
		return fmt.Errorf("%s ended", p.name)
	default:
	}
	_, err := os.Stat(file)
	return err
}

func (a *Array) startBlade(ctx context.Context, n *node) error {
	s := control.Settings{
		Node: n.name, Blades: map[string]string{}, Socket: filepath.Join(a.dir, n.name+".sock"),
		NFS4: net.JoinHostPort(n.nfs4, control.NFS4Port),
	}
	for _, l := range a.LIFs() {
		if l.Node == n.name {
			s.Listen = append(s.Listen, l.Address)
		}
	}
	for _, other := range a.nodes {
		s.Blades[other.name] = other.cluster
	}
	for _, v := range a.Volumes() {
		s.Volumes = append(s.Volumes, v.order().Volume)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file := filepath.Join(a.dir, n.name+"-nblade.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	n.blade = control.NewClient(s.Socket)
	if n.nblade, err = a.launch(n.name, "nblade", "ip", "netns", "exec", n.netns, a.bladePath(), "-settings", file); err != nil {
		return err
	}
	return until(ctx, func() error { return n.nblade.has(s.Socket) })
}

// order is what an N-blade is told of a volume.
func (v Volume) order() control.Order {
	return control.Order{Volume: control.Volume{Name: v.Name, Junction: v.Junction, Export: v.export, Owner: v.Node}}
}

// awaitMounts returns when both LIFs serve a volume with NFSv3 and NFSv4.
func (a *Array) awaitMounts(ctx context.Context, v Volume) error {
	for _, l := range a.LIFs() {
		if err := until(ctx, func() error { return a.mount(ctx, l, v) }); err != nil {
			return fmt.Errorf("mount %s:%s: %w", l.Address, v.Junction, err)
		}
		if err := until(ctx, func() error { return lookUpV4(ctx, l, v) }); err != nil {
			return fmt.Errorf("find %s:%s with NFSv4: %w", l.Address, v.Junction, err)
		}
	}
	return nil
}

func (a *Array) mount(ctx context.Context, l LIF, v Volume) error {
	c, err := nfs.Dial(ctx, nfs.Config{
		Channels: []nfs.Channel{{Path: l.Address}}, Export: v.Junction,
		MountTimeout: time.Minute, Now: a.options.Now,
	})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Getattr(ctx, c.Root())
	return err
}
