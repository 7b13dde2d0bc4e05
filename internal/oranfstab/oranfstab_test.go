package oranfstab

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with the file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// inputs returns the example files of a folder of testdata by name.
func inputs(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.oranfstab"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in testdata/%s: %v", folder, err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(file, ".oranfstab")] = src
	}
	return all
}

func TestWorkingFilesRenderToTheirCanonicalForm(t *testing.T) {
	for name, src := range inputs(t, "valid") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			text, err := Render(f)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".golden", text)
		})
	}
}

func TestMessages(t *testing.T) {
	for name, src := range inputs(t, "lint") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var b strings.Builder
			for _, p := range Lint(src) {
				fmt.Fprintf(&b, "%s [%s]\n", p, p.Code)
			}
			golden(t, name+".golden", b.String())
		})
	}
}

func TestParseReadsEveryAttribute(t *testing.T) {
	src := `server: nas1.example.com
local: 10.0.1.2
path: 10.0.1.1
path: 10.0.2.1
dontroute
nfs_version: NFSv4
security_default: KRB5
mnt_timeout: 30
management: 10.9.9.9
community: backup
uid: 7
gid: 8
export: /a mount: /b
export: /c mount: /d security: krb5p
`
	timeout, uid, gid := int32(30), uint32(7), uint32(8)
	want := File{Servers: []Server{{
		Name:                "nas1.example.com",
		Paths:               []PathPair{{Local: "10.0.1.2", Path: "10.0.1.1"}, {Path: "10.0.2.1"}},
		DontRoute:           true,
		Version:             NFSv4,
		SecurityDefault:     SecurityKrb5,
		MountTimeoutSeconds: &timeout,
		Management:          "10.9.9.9",
		Community:           "backup",
		UID:                 &uid,
		GID:                 &gid,
		Exports:             []Export{{Path: "/a", Mount: "/b"}, {Path: "/c", Mount: "/d", Security: SecurityKrb5p}},
	}}}
	got, err := Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := Render(got)
	if err != nil {
		t.Fatal(err)
	}
	lower := strings.NewReplacer("NFSv4", "nfsv4", "KRB5", "krb5")
	if diff := cmp.Diff(lower.Replace(src), text); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

func TestParseReturnsErrorsButNoWarnings(t *testing.T) {
	_, err := Parse([]byte("server: nas\npath: nas.example.com\nexport: a mount: b\n"))
	var perr *ParseError
	if !errors.As(err, &perr) {
		t.Fatalf("got %v, want a ParseError", err)
	}
	if n := len(perr.Problems); n != 2 {
		t.Errorf("got %d problems, want the 2 relative paths without the warning about the host name", n)
	}
	want := `line 3, column 9: export "a" does not begin with a slash (and 1 more)`
	if got := err.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEffectiveValues(t *testing.T) {
	for reason, c := range map[string]struct {
		server   Server
		export   Export
		version  Version
		security Security
	}{
		"without a line":            {Server{}, Export{}, NFSv3, SecuritySys},
		"the default of the server": {Server{Version: PNFS, SecurityDefault: SecurityKrb5}, Export{}, PNFS, SecurityKrb5},
		"that of the export":        {Server{SecurityDefault: SecurityKrb5}, Export{Security: SecurityKrb5i}, NFSv3, SecurityKrb5i},
	} {
		version, security := c.server.EffectiveVersion(), c.server.EffectiveSecurity(c.export)
		if version != c.version || security != c.security {
			t.Errorf("%s: %q and %q, want %q and %q", reason, version, security, c.version, c.security)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*Server)
		want   string
	}{
		"a line in a name":  {func(s *Server) { s.Name = "x\nserver: y" }, `has no path`},
		"an empty name":     {func(s *Server) { s.Name = "" }, `before any server line`},
		"a colon in a name": {func(s *Server) { s.Name = "a:b" }, `holds a colon`},
		"a long name":       {func(s *Server) { s.Name = strings.Repeat("x", 256) }, "longer than 255"},
		"no path":           {func(s *Server) { s.Paths = nil }, `has no path`},
		"five paths": {func(s *Server) {
			s.Paths = []PathPair{{Path: "10.0.1.1"}, {Path: "10.0.1.2"}, {Path: "10.0.1.3"}, {Path: "10.0.1.4"}, {Path: "10.0.1.5"}}
		}, "at most 4 are allowed"},
		"an empty path":          {func(s *Server) { s.Paths[0].Path = "" }, `has no path`},
		"a comment in a path":    {func(s *Server) { s.Paths[0].Path = "10.0.0.1#" }, `holds a #`},
		"a key in a local":       {func(s *Server) { s.Paths[0].Local = "10.0.0.1 path: 10.0.0.2" }, `unexpected "path:"`},
		"a carriage return":      {func(s *Server) { s.Exports[0].Mount = "/b\r" }, `read back differently`},
		"options in a mount":     {func(s *Server) { s.Exports[0].Mount = "/b security: sys" }, `read back differently`},
		"a relative export":      {func(s *Server) { s.Exports[0].Path = "a" }, `does not begin with a slash`},
		"a colon in an export":   {func(s *Server) { s.Exports[0].Path = "/a:b" }, `holds a colon`},
		"a no-break space":       {func(s *Server) { s.Exports[0].Path = "/a\u00a0b" }, `not ASCII`},
		"no export":              {func(s *Server) { s.Exports = nil }, `has no export`},
		"a version":              {func(s *Server) { s.Version = "nfsv3\nuid: 0" }, `read back differently`},
		"an upper case version":  {func(s *Server) { s.Version = "NFSv3" }, `read back differently`},
		"a security":             {func(s *Server) { s.SecurityDefault = "none" }, `no security mode`},
		"an export's security":   {func(s *Server) { s.Exports[0].Security = "SYS" }, `read back differently`},
		"a timeout":              {func(s *Server) { n := int32(0); s.MountTimeoutSeconds = &n }, `not a positive number`},
		"a community":            {func(s *Server) { s.Community = "a b" }, `unexpected "b"`},
		"a management address":   {func(s *Server) { s.Management = "a/b" }, `management "a/b"`},
		"pnfs with Kerberos":     {func(s *Server) { s.Version, s.SecurityDefault, s.Name = PNFS, SecurityKrb5, "a.b" }, "pnfs works with security sys only"},
		"one mount, two exports": {func(s *Server) { s.Exports = append(s.Exports, Export{Path: "/c", Mount: "/b"}) }, "already"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Server{Name: "nas", Paths: []PathPair{{Path: "10.0.1.1"}}, Exports: []Export{{Path: "/a", Mount: "/b"}}}
			tc.change(&s)
			text, err := Render(File{Servers: []Server{s}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q; text:\n%s", err, tc.want, text)
			}
		})
	}
	if _, err := Render(File{}); err == nil {
		t.Error("a file without servers was rendered")
	}
}

// TestRenderedFilesParseToThemselves is the round trip over random files.
func TestRenderedFilesParseToThemselves(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		f := randomFile(r)
		text, err := Render(f)
		if err != nil {
			t.Fatalf("seed %d: %v\n%+v", seed, err, f)
		}
		got, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Fatalf("seed %d (-rendered +parsed):\n%s\n%s", seed, diff, text)
		}
	}
}

func randomFile(r *rand.Rand) File {
	var f File
	for i := range 1 + r.IntN(3) {
		s := Server{
			Name:      fmt.Sprintf("nas%d.example.com", i),
			DontRoute: r.IntN(2) == 0,
			Version:   pick(r, "", NFSv3, NFSv4, NFSv41, PNFS),
		}
		modes := []Security{"", SecuritySys, SecurityKrb5, SecurityKrb5i, SecurityKrb5p}
		if s.Version == PNFS {
			modes = modes[:2]
		}
		s.SecurityDefault = pick(r, modes...)
		for j := range 1 + r.IntN(MaxPaths) {
			s.Paths = append(s.Paths, PathPair{
				Local: pick(r, "", "db1", fmt.Sprintf("10.1.%d.2", j)),
				Path:  pick(r, fmt.Sprintf("10.0.%d.1", j), fmt.Sprintf("fd00:%d::1", j), fmt.Sprintf("lif_%d.Example.com", j)),
			})
		}
		if r.IntN(2) == 0 {
			n := 1 + r.Int32N(1000)
			s.MountTimeoutSeconds = &n
			s.Management, s.Community = "10.9.9.9", "public"
		}
		if r.IntN(4) == 0 {
			n := r.Uint32()
			s.UID, s.GID = &n, &n
		}
		for j := range 1 + r.IntN(3) {
			s.Exports = append(s.Exports, Export{
				Path:     pick(r, "/", "/vol/Data", "/a-b_c.d,e=f+@%()[]{}~!$&*;<>?|\\^`"),
				Mount:    fmt.Sprintf("%s%d/%d", pick(r, "/u0", `C:\u`), i, j),
				Security: pick(r, modes...),
			})
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func FuzzParse(f *testing.F) {
	for _, folder := range []string{"valid", "lint"} {
		for _, src := range inputs(f, folder) {
			f.Add(src)
		}
	}
	for _, tc := range ruleCases() {
		f.Add([]byte(tc.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		memory.Bound(t, 64<<10+1024*len(src), func() { parseHostile(t, src) })
	})
}

func parseHostile(t *testing.T, src []byte) {
	t.Helper()
	problems := Lint(src)
	lines := strings.Count(string(src), "\n") + 1
	for _, p := range problems {
		if p.Line < 1 || p.Line > lines || p.Column < 1 {
			t.Errorf("problem is outside the file: %+v", p)
		}
	}
	file, err := Parse(src)
	if (err != nil) != slices.ContainsFunc(problems, isError) {
		t.Fatalf("Parse says %v, Lint says %v", err, problems)
	}
	if err != nil {
		return
	}
	text, err := Render(file)
	if err != nil {
		t.Fatalf("what Parse accepts is not rendered: %v", err)
	}
	again, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, again); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
