package runfile

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// DefaultMountPath is where the pods of a run see the volume, and the mount in an
// oranfstab where nothing is mounted: Direct NFS needs one, the user-space client none.
const DefaultMountPath = "/mnt/nfsbench"

// Oranfstab is that of the engine, with the mount of the host where the database runs.
// It is empty where that mount is not known: Direct NFS ignores a file with another.
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

// Oranfstab renders the file that Direct NFS reads: one server with the channels of
// the engine, its export, and further ones. It is empty without channels.
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

// UseOranfstab takes the channels, the version and the security of the engine from
// the text of an oranfstab: from the server and the export that the engine names, or
// the only ones.
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

// oranfstabVersions are the versions by their names in a plan.
func oranfstabVersions() map[bench.NFSVersion]oranfstab.Version {
	return map[bench.NFSVersion]oranfstab.Version{
		bench.NFSv3: oranfstab.NFSv3, bench.NFSv40: oranfstab.NFSv4,
		bench.NFSv41: oranfstab.NFSv41, bench.PNFS: oranfstab.PNFS,
	}
}
