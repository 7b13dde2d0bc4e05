package runfile

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// DefaultMountPath is the mount point of the volume in the pods of a run, and the mount in an oranfstab if
// nothing is mounted: Direct NFS requires one, the user-space client does not.
const DefaultMountPath = "/mnt/nfsbench"

// Oranfstab returns the oranfstab of the engine with the mount of the database's host. It is empty if that
// mount is unknown, because Direct NFS ignores a file with another mount.
func (p Plan) Oranfstab() (string, error) {
	if d := p.Database; d != nil && d.Kind == DatabaseExternal {
		if d.DataDirectory == "" {
			return "", nil
		}
		p.Engine.MountPath = d.DataDirectory
	}
	if d := p.Database; d != nil && d.RedoExport != "" {
		return p.Engine.Oranfstab(oranfstab.Export{Path: d.RedoExport, Mount: d.RedoDirectory})
	}
	return p.Engine.Oranfstab()
}

// Oranfstab renders the file that Direct NFS reads: one server with the channels of the engine, its export,
// and the further exports. It is empty without channels.
func (e Engine) Oranfstab(further ...oranfstab.Export) (string, error) {
	if len(e.Channels) == 0 {
		return "", nil
	}
	s := oranfstab.Server{
		Name: e.Server, DontRoute: e.DontRoute, Version: oranfstabVersions()[e.NFSVersion],
		Exports: append([]oranfstab.Export{{Path: e.Export, Mount: cmp.Or(e.MountPath, DefaultMountPath)}}, further...),
	}
	if e.MountTimeoutSeconds > 0 {
		s.MountTimeoutSeconds = &e.MountTimeoutSeconds
	}
	if e.Security != bench.SecuritySys {
		s.SecurityDefault = oranfstab.Security(e.Security)
	}
	for _, c := range e.Channels {
		s.Paths = append(s.Paths, oranfstab.PathPair{Local: c.Local, Path: c.Path})
	}
	text, err := oranfstab.Render(oranfstab.File{Servers: []oranfstab.Server{s}})
	if err != nil {
		return "", fmt.Errorf("write the oranfstab: %w", err)
	}
	return text, nil
}

// UseOranfstab sets the channels, the version and the security of the engine from the text of an oranfstab.
// It uses the server and the export that the engine names, or else the only ones in the text.
func (e *Engine) UseOranfstab(text string) error {
	file, err := oranfstab.Parse([]byte(text))
	if err != nil {
		return err
	}
	server, export, err := file.Select(e.Server, e.Export)
	if err != nil {
		return err
	}
	e.Server, e.Export, e.DontRoute = server.Name, export.Path, server.DontRoute
	for name, v := range oranfstabVersions() {
		if v == server.EffectiveVersion() {
			e.NFSVersion = name
		}
	}
	e.Security = bench.Security(server.EffectiveSecurity(export))
	e.Channels = nil
	for _, p := range server.Paths {
		e.Channels = append(e.Channels, bench.ResolvedPath{Local: p.Local, Path: p.Path})
	}
	return nil
}

// oranfstabVersions maps the NFS versions of a plan to those of an oranfstab.
func oranfstabVersions() map[bench.NFSVersion]oranfstab.Version {
	return map[bench.NFSVersion]oranfstab.Version{
		bench.NFSv3: oranfstab.NFSv3, bench.NFSv40: oranfstab.NFSv4,
		bench.NFSv41: oranfstab.NFSv41, bench.PNFS: oranfstab.PNFS,
	}
}
