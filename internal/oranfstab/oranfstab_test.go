package oranfstab

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// inputs returns the example files by name.
func inputs(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "valid", "*.oranfstab"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
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
	for name, src := range inputs(t) {
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
	timeout := int32(30)
	want := File{Servers: []Server{{
		Name:                "nas1.example.com",
		Paths:               []PathPair{{Local: "10.0.1.2", Path: "10.0.1.1"}, {Path: "10.0.2.1"}},
		DontRoute:           true,
		Version:             NFSv4,
		SecurityDefault:     SecurityKrb5,
		MountTimeoutSeconds: &timeout,
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
	lower := strings.NewReplacer("NFSv4", "nfsv4", "KRB5", "krb5",
		"management: 10.9.9.9\n", "", "community: backup\n", "", "uid: 7\n", "", "gid: 8\n", "")
	if diff := cmp.Diff(lower.Replace(src), text); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

func TestEffectiveValues(t *testing.T) {
	var s Server
	if got := s.EffectiveVersion(); got != NFSv3 {
		t.Errorf("version without a line is %q, want nfsv3", got)
	}
	if got := s.EffectiveSecurity(Export{}); got != SecuritySys {
		t.Errorf("security without a line is %q, want sys", got)
	}
	s = Server{Version: PNFS, SecurityDefault: SecurityKrb5}
	if got := s.EffectiveVersion(); got != PNFS {
		t.Errorf("version is %q, want pnfs", got)
	}
	if got := s.EffectiveSecurity(Export{}); got != SecurityKrb5 {
		t.Errorf("security is %q, want the default of the server", got)
	}
	if got := s.EffectiveSecurity(Export{Security: SecurityKrb5i}); got != SecurityKrb5i {
		t.Errorf("security is %q, want that of the export", got)
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
		"a comment in a path":    {func(s *Server) { s.Paths[0].Path = "10.0.0.1#" }, `holds a # or a quote`},
		"a key in a local":       {func(s *Server) { s.Paths[0].Local = "10.0.0.1 path: 10.0.0.2" }, `unexpected "path: 10.0.0.2"`},
		"a carriage return":      {func(s *Server) { s.Exports[0].Mount = "/b\r" }, `read back differently`},
		"options in a mount":     {func(s *Server) { s.Exports[0].Mount = "/b security: sys" }, `read back differently`},
		"a relative export":      {func(s *Server) { s.Exports[0].Path = "a" }, `begins with a slash`},
		"a colon in an export":   {func(s *Server) { s.Exports[0].Path = "/a:b" }, `has no colon`},
		"a no-break space":       {func(s *Server) { s.Exports[0].Path = "/a\u00a0b" }, `plain ASCII`},
		"no export":              {func(s *Server) { s.Exports = nil }, `has no export`},
		"a version":              {func(s *Server) { s.Version = "nfsv3\nuid: 0" }, `read back differently`},
		"an upper case version":  {func(s *Server) { s.Version = "NFSv3" }, `read back differently`},
		"a security":             {func(s *Server) { s.SecurityDefault = "none" }, `no security mode`},
		"an export's security":   {func(s *Server) { s.Exports[0].Security = "SYS" }, `read back differently`},
		"a timeout":              {func(s *Server) { n := int32(0); s.MountTimeoutSeconds = &n }, `not a positive number`},
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
		}
		for j := range 1 + r.IntN(3) {
			s.Exports = append(s.Exports, Export{
				Path:     pick(r, "/", "/vol/Data", "/a-b_c.d,e=f+@%()[]{}~!$&*;<>?|\\^`"),
				Mount:    fmt.Sprintf("/u0%d/%d", i, j),
				Security: pick(r, modes...),
			})
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func FuzzParse(f *testing.F) {
	for _, src := range inputs(f) {
		f.Add(src)
	}
	for _, tc := range mistakes() {
		f.Add([]byte(tc.src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		memory.Bound(t, 64<<10+1024*len(src), func() { parseHostile(t, src) })
	})
}

func parseHostile(t *testing.T, src []byte) {
	t.Helper()
	file, err := Parse(src)
	if err != nil {
		var at *lineError
		if !errors.As(err, &at) || at.line < 1 || at.line > strings.Count(string(src), "\n")+1 {
			t.Errorf("the error names no line of the file: %v", err)
		}
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

// ok is a block that breaks no rule; cases put their mistake before or behind.
const (
	head = "server: nas\npath: 10.0.1.1\n"
	tail = "export: /a mount: /b\n"
	ok   = head + tail
)

type mistake struct{ src, want string }

func mistakes() map[string]mistake {
	four := "server: nas\npath: 10.0.1.1\npath: 10.0.2.1\npath: 10.0.3.1\npath: 10.0.4.1\n"
	long := strings.Repeat("x", 1024)
	return map[string]mistake{
		"byte order mark":          {"\ufeff" + ok, "line 1: the line has the character U+FEFF"},
		"no-break space":           {head + "export:\u00a0/a mount: /b\n", "line 3: the line has the character U+00A0"},
		"not UTF-8":                {"server: gr\xfcn\n", "line 1: the line has the character U+FFFD"},
		"control character":        {"server: n\aas\n", "line 1: the line has the character U+0007"},
		"quotes":                   {`server: "nas"`, "line 1: server holds a # or a quote"},
		"hash in a word":           {head + "export: /a#b mount: /b\n", "line 3: export holds a #"},
		"colon in a label":         {"server: nas:1\n", `line 1: server "nas:1" holds a colon`},
		"unknown key":              {"hello: world\n" + ok, `line 1: there is no key "hello"; write one of server, local,`},
		"only a colon":             {": x\n" + ok, `line 1: there is no key ""`},
		"missing colon":            {"server nas\n", `line 1: server has no colon; write "server:"`},
		"missing colon, IPv6":      {"server: nas\npath fd00::1\n", `line 2: path has no colon; write "path:"`},
		"missing value":            {"server:\n", "line 1: server has no value"},
		"missing address":          {"server: nas\nlocal:\n", "line 2: local has no value"},
		"two addresses":            {"server: nas\npath: 10.0.1.1 10.0.2.1\n", `line 2: unexpected "10.0.2.1" behind the value of path`},
		"value of dontroute":       {head + "dontroute no\n", `line 3: unexpected "no" behind dontroute`},
		"mount options":            {head + "export: /a mount: /b rw,hard\n", "line 3: the line of an export is"},
		"behind security":          {head + "export: /a mount: /b security: sys x\n", "line 3: the line of an export is"},
		"repeated version":         {head + "nfs_version: nfsv3\nnfs_version: nfsv4\n", "line 4: this server has nfs_version already"},
		"repeated dontroute":       {head + "dontroute\ndonotroute\n", "line 4: this server has dontroute already"},
		"empty":                    {"", "line 1: the file has no server"},
		"only comments":            {"# x\n# y\n", "line 2: the file has no server"},
		"path before server":       {"path: 10.0.9.1\n" + ok, "line 1: path stands before any server line"},
		"same label":               {ok + "server: NAS\n", `line 4: there is a server "NAS" already`},
		"no path":                  {"\nserver: nas\n" + tail, `line 2: server "nas" has no path`},
		"no export":                {head + "server: b\n", `line 1: server "nas" has no export`},
		"five paths":               {four + "path: 10.0.5.1\n", "line 6: this is path number 5"},
		"same pair twice":          {"server: nas\npath: nas\npath: nas\n", `line 3: the server has path "nas" already`},
		"local at the end":         {ok + "local: 10.0.1.2\n", `line 4: local "10.0.1.2" is not followed by a path`},
		"two locals":               {"server: nas\nlocal: 10.0.1.2\nlocal: 10.0.2.2\n", `line 2: local "10.0.1.2" is not followed`},
		"mount on its own line":    {head + "mount: /b\n", "line 3: mount has to be on the line of an export"},
		"security on its own line": {ok + "security: sys\n", "line 4: security has to be on the line of an export"},
		"no mount":                 {head + "export: /a /b\n", "line 3: the line of an export is"},
		"no export path":           {head + "export: mount: /b\n", "line 3: the line of an export is"},
		"blank in the export":      {head + "export: /my data mount: /b\n", "line 3: the line of an export is"},
		"relative export":          {head + "export: a mount: /b\n", `line 3: "a" has to be a path that begins with a slash`},
		"server in the export":     {head + "export: nas:/a mount: /b\n", `line 3: "nas:/a" has to be a path`},
		"mount on Windows":         {head + `export: /a mount: C:\b`, `line 3: "C:\\b" has to be a path`},
		"long path":                {head + "export: /" + long + " mount: /b\n", "at most 1024 characters"},
		"long label":               {"server: " + long[:256] + "\n", "line 1: the server label is longer than 255"},
		"same mount":               {ok + "server: n2\npath: 10.0.1.1\nexport: /c mount: /b/\n", `line 6: mount "/b/" is on line 3 already`},
		"unknown version":          {head + "nfs_version: nfsv4.2\n", `line 3: there is no nfs_version "nfsv4.2"; write nfsv3`},
		"unknown default":          {head + "security_default: none\n", `line 3: there is no security mode "none"`},
		"unknown security":         {head + "export: /a mount: /b security: ntlm\n", `line 3: there is no security mode "ntlm"`},
		"timeout with a unit":      {head + "mnt_timeout: 10m\n", `line 3: mnt_timeout "10m" is not a positive number`},
		"timeout zero":             {head + "mnt_timeout: 0\n", `line 3: mnt_timeout "0"`},
		"timeout too large":        {head + "mnt_timeout: 2147483648\n", `line 3: mnt_timeout "2147483648"`},
		"pnfs with Kerberos":       {"server: a.b\npath: 10.0.1.1\nnfs_version: pnfs\nsecurity_default: krb5\n" + tail, "line 1: pnfs works with security sys only"},
		"Kerberos, short label":    {head + "export: /a mount: /b security: krb5\n", "line 1: Kerberos needs the full host name"},
		"Kerberos, address":        {"server: 10.0.1.1\npath: 10.0.1.1\nsecurity_default: krb5\n" + tail, "line 1: Kerberos needs the full host name"},
		"mistyped address":         {"server: nas\npath: 10.0.1.300\n", `line 2: path "10.0.1.300" is neither`},
		"address and export":       {"server: nas\npath: 10.0.1.1:/a\n", `line 2: path "10.0.1.1:/a" is neither`},
		"bracketed IPv6":           {"server: nas\npath: [fd00::1]\n", `line 2: path "[fd00::1]" is neither`},
		"any address":              {"server: nas\nlocal: 0.0.0.0\n", `line 2: local "0.0.0.0" is neither`},
		"a hyphen first":           {"server: nas\npath: -a\n", `line 2: path "-a" is neither`},
		"an empty label":           {"server: nas\npath: a..b\n", `line 2: path "a..b" is neither`},
		"overlong label":           {"server: nas\npath: " + long[:64] + "\n", "line 2: path"},
	}
}

func TestParseNamesTheFirstMistake(t *testing.T) {
	for name, tc := range mistakes() {
		if _, err := Parse([]byte(tc.src)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestParseTakesWhatPeopleWrite(t *testing.T) {
	for reason, src := range map[string]string{
		"line ends of Windows":           strings.ReplaceAll(ok, "\n", "\r\n"),
		"tabs":                           "server:\tnas\npath:\t10.0.1.1\nexport: /a\tmount: /b\n",
		"no newline at the end":          strings.TrimSuffix(ok, "\n"),
		"comments in any language":       "# gr\xfcn\n\n  # y \u00a0\n" + ok,
		"a comment behind a value":       head + "nfs_version: nfsv3 # was 4\n" + tail,
		"blanks at the colon, or none":   "server : nas\npath :10.0.1.1\nexport:/a mount :/b\n",
		"capitals":                       "SERVER: nas\npath: 10.0.1.1\nExport: /a Mount: /b Security: SYS\n",
		"a comment between the pair":     "server: nas\nlocal: 10.0.1.2\n# x\n\npath: 10.0.1.1\n" + tail,
		"dontroute with a colon":         head + "dontroute:\n" + tail,
		"a version behind exports":       ok + "nfs_version: nfsv4\n",
		"the root of a server":           head + "export: / mount: /b\n",
		"the same export of two servers": ok + "server: n2\npath: 10.0.1.1\nexport: /a mount: /c\n",
		"what only Windows reads":        head + "uid: 1001\ngid: 0\n" + tail,
		"Kerberos with a full name":      "server: nas.example.com\npath: fd00::1\nsecurity_default: krb5\n" + tail,
		"a host name as long as it may":  "server: nas\npath: " + strings.Repeat("a", 63) + ".A_9-\n" + tail,
	} {
		if _, err := Parse([]byte(src)); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
