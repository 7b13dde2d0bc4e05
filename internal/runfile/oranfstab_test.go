package runfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
)

const twoServers = `server: lab.example.com
local: 10.0.1.5
path: 10.0.1.61
path: 10.0.2.61
dontroute
nfs_version: nfsv4.1
export: /vol/a mount: /u01
export: /vol/b mount: /u02 security: krb5
server: other
path: 10.0.3.61
export: /vol mount: /u03
`

func TestAnEngineTakesOneServerAndOneExportOfAnOranfstab(t *testing.T) {
	t.Parallel()
	channels := []bench.ResolvedPath{{Local: "10.0.1.5", Path: "10.0.1.61"}, {Path: "10.0.2.61"}}
	cases := map[string]struct {
		text, server, export string
		want                 Engine
		err                  []string
	}{
		"named":            {twoServers, "lab.example.com", "/vol/a", Engine{Server: "lab.example.com", Export: "/vol/a", DontRoute: true, NFSVersion: "NFSv4.1", Security: "sys", Channels: channels}, nil},
		"its own security": {twoServers, "lab.example.com", "/vol/b", Engine{Server: "lab.example.com", Export: "/vol/b", DontRoute: true, NFSVersion: "NFSv4.1", Security: "krb5", Channels: channels}, nil},
		"the only export":  {twoServers, "other", "", Engine{Server: "other", Export: "/vol", NFSVersion: "NFSv3", Security: "sys", Channels: ChannelsTo("10.0.3.61")}, nil},
		"no such server":   {twoServers, "prod", "", Engine{}, []string{`no server "prod"`, "lab.example.com, other"}},
		"several servers":  {twoServers, "", "", Engine{}, []string{"several servers", "lab.example.com, other"}},
		"no such export":   {twoServers, "other", "/x", Engine{}, []string{`no export "/x"`, "/vol"}},
		"several exports":  {twoServers, "lab.example.com", "", Engine{}, []string{"several exports", "/vol/a, /vol/b"}},
		"not an oranfstab": {"path: 10.0.0.1\n", "", "", Engine{}, []string{"line 1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Engine{Server: c.server, Export: c.export}
			err := e.UseOranfstab(c.text)
			if c.err == nil {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, e); diff != "" {
					t.Errorf("engine (-want +got):\n%s", diff)
				}
				return
			}
			for _, part := range c.err {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
		})
	}
}

func TestTheOranfstabOfAnEngineGivesTheSameEngine(t *testing.T) {
	t.Parallel()
	for _, version := range []bench.NFSVersion{"NFSv3", "NFSv4.0", "NFSv4.1", "pNFS"} {
		want := Engine{
			Server: "lab.example.com", Export: "/vol", DontRoute: true, NFSVersion: version, Security: "sys", MountPath: "/u01", MountTimeoutSeconds: 30,
			Channels: []bench.ResolvedPath{{Local: "10.0.1.5", Path: "10.0.1.61"}, {Path: "10.0.2.61"}},
		}
		text, err := want.Oranfstab()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "mnt_timeout: 30\n") || !strings.Contains(text, "mount: /u01\n") {
			t.Errorf("the timeout or the mount is missing:\n%s", text)
		}
		got := Engine{MountPath: "/u01", MountTimeoutSeconds: 30}
		if err := got.UseOranfstab(text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}

// Direct NFS ignores an oranfstab whose mount is not that of its host.
func TestAnOranfstabNamesTheMountOfTheDatabasesHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"container":     {inContainer, "export: /vol/data mount: /opt/oracle/oradata\n"},
		"redo":          {func(p *Plan) { inContainer(p); redoOn("/vol/redo", "/redo")(p.Database) }, "export: /vol/data mount: /opt/oracle/oradata\nexport: /vol/redo mount: /redo\n"},
		"external":      {func(p *Plan) { inExternal(p); p.Database.DataDirectory = "/u02/oradata" }, "export: /vol/data mount: /u02/oradata\n"},
		"mount unknown": {inExternal, ""},
		"without":       {func(p *Plan) { inContainer(p); p.Engine.Channels = nil }, ""},
	} {
		p := oraclePlan(bench.Workload{SLOB: slob()}, c.change)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		got, err := p.Oranfstab()
		if err != nil || !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
