package oranfstab

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The keys. Those without a name here are read and have no meaning for a load.
const (
	keyServer          = "server"
	keyLocal           = "local"
	keyPath            = "path"
	keyDontRoute       = "dontroute"
	keyVersion         = "nfs_version"
	keySecurityDefault = "security_default"
	keyTimeout         = "mnt_timeout"
	keyExport          = "export"
	keyMount           = "mount"
	keySecurity        = "security"
)

func keys() []string {
	return []string{
		keyServer, keyLocal, keyPath, keyDontRoute, "donotroute", keyVersion, keySecurityDefault, keyTimeout,
		"management", "community", "uid", "gid", keyExport, keyMount, keySecurity,
	}
}

// lineError is what is wrong with a line, and what to write instead.
type lineError struct {
	line    int // from 1
	message string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.message) }

// Parse reads an oranfstab. Its error names the first line that breaks a rule, and says what to
// write instead.
func Parse(src []byte) (File, error) {
	p := parser{mounts: map[string]int{}}
	for text := range strings.Lines(string(src)) {
		p.line++
		if err := p.read(text); err != nil {
			return File{}, err
		}
	}
	if err := p.closeServer(); err != nil {
		return File{}, err
	}
	if len(p.servers) == 0 {
		return File{}, errorAt(max(p.line, 1), `the file has no server; write "server: NAME", a path and an export`)
	}
	return File{Servers: p.servers}, nil
}

// parser reads lines into servers.
type parser struct {
	line    int
	servers []Server
	mounts  map[string]int // the line of each, of all servers

	// Of the last server:
	opened    int             // its line
	seen      map[string]bool // keys that may appear once
	local     string          // the last one that has no path yet
	localLine int
}

func errorAt(line int, format string, args ...any) error {
	return &lineError{line: line, message: fmt.Sprintf(format, args...)}
}

func (p *parser) errorf(format string, args ...any) error { return errorAt(p.line, format, args...) }

// read splits a line into its key and what follows the colon.
func (p *parser) read(text string) error {
	text = strings.Trim(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\t", " "), " ")
	if text == "" || text[0] == '#' {
		return nil
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return p.errorf("the line has the character %U; type it anew in plain ASCII", r)
	}
	text, _, _ = strings.Cut(text, " #")
	end := strings.IndexAny(text, ": ")
	if end < 0 {
		end = len(text)
	}
	key, rest := strings.ToLower(text[:end]), strings.Trim(text[end:], " ")
	value, colon := strings.CutPrefix(rest, ":")
	value = strings.Trim(value, " ")
	switch isDontRoute := key == keyDontRoute || key == "donotroute"; {
	case !slices.Contains(keys(), key):
		return p.errorf("there is no key %q; write one of %s", text[:end], strings.Join(keys(), ", "))
	case strings.ContainsAny(value, "#\"'"):
		return p.errorf("%s holds a # or a quote; remove it, the file has no quoting", key)
	case isDontRoute && value != "":
		return p.errorf("unexpected %q behind dontroute, which takes no value; to turn it off, remove the line", value)
	case isDontRoute:
		return p.statement(keyDontRoute, "")
	case !colon:
		return p.errorf("%s has no colon; write %q", key, key+":")
	}
	return p.statement(key, value)
}

const exportForm = `"export: PATH mount: PATH [security: MODE]"`

func (p *parser) statement(key, value string) error {
	switch {
	case p.local != "" && key != keyPath:
		return p.localAlone()
	case key == keyServer:
		return p.openServer(value)
	case len(p.servers) == 0:
		return p.errorf(`%s stands before any server line; begin the file with "server: NAME"`, key)
	case key == keyMount, key == keySecurity:
		return p.errorf("%s has to be on the line of an export: %s; for all exports write security_default", key, exportForm)
	case key == keyExport:
		return p.export(value)
	case key != keyLocal && key != keyPath && p.seen[key]:
		return p.errorf("this server has %s already; remove one of them", key)
	}
	p.seen[key] = true
	s := &p.servers[len(p.servers)-1]
	if key == keyDontRoute {
		s.DontRoute = true
		return nil
	}
	if err := p.oneWord(key, value); err != nil {
		return err
	}
	switch key {
	case keyLocal:
		p.local, p.localLine = value, p.line
		return p.address(key, value)
	case keyPath:
		return p.path(s, value)
	case keyVersion:
		s.Version = Version(strings.ToLower(value))
		if !slices.Contains([]Version{NFSv3, NFSv4, NFSv41, PNFS}, s.Version) {
			return p.errorf("there is no nfs_version %q; write nfsv3, nfsv4, nfsv4.1 or pnfs", value)
		}
	case keySecurityDefault:
		return p.security(&s.SecurityDefault, value)
	case keyTimeout:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n <= 0 {
			return p.errorf("mnt_timeout %q is not a positive number of seconds; write for example %d", value,
				DefaultMountTimeoutSeconds)
		}
		s.MountTimeoutSeconds = new(int32(n))
	}
	return nil
}

func (p *parser) localAlone() error {
	return errorAt(p.localLine, `local %q is not followed by a path; write "path: ADDRESS" on the next line`, p.local)
}

func (p *parser) oneWord(key, value string) error {
	switch _, more, _ := strings.Cut(value, " "); {
	case value == "":
		return p.errorf("%s has no value", key)
	case more != "":
		return p.errorf("unexpected %q behind the value of %s, which takes one word", more, key)
	}
	return nil
}

func (p *parser) openServer(name string) error {
	if err := p.oneWord(keyServer, name); err != nil {
		return err
	}
	if err := p.closeServer(); err != nil {
		return err
	}
	switch {
	case strings.Contains(name, ":"):
		return p.errorf("server %q holds a colon, which ends a key", name)
	case len(name) > maxNameBytes:
		return p.errorf("the server label is longer than %d characters", maxNameBytes)
	// Without case, because no document says that Oracle distinguishes labels by it.
	case slices.ContainsFunc(p.servers, func(s Server) bool { return strings.EqualFold(s.Name, name) }):
		return p.errorf("there is a server %q already; labels have to be unique", name)
	}
	p.servers, p.opened, p.seen = append(p.servers, Server{Name: name}), p.line, map[string]bool{}
	return nil
}

// closeServer checks what one line of a server does not show.
func (p *parser) closeServer() error {
	if p.local != "" {
		return p.localAlone()
	}
	if len(p.servers) == 0 {
		return nil
	}
	s := p.servers[len(p.servers)-1]
	_, notAddress := netip.ParseAddr(s.Name)
	qualified := notAddress != nil && isHostName(s.Name) && strings.Contains(s.Name, ".")
	kerberos := slices.ContainsFunc(s.Exports, func(e Export) bool { return s.EffectiveSecurity(e) != SecuritySys })
	switch {
	case len(s.Paths) == 0:
		return errorAt(p.opened, `server %q has no path; write "path: ADDRESS"`, s.Name)
	case len(s.Exports) == 0:
		return errorAt(p.opened, `server %q has no export; write "export: PATH mount: PATH"`, s.Name)
	case kerberos && s.Version == PNFS:
		return errorAt(p.opened, "pnfs works with security sys only; write sys, or another nfs_version than pnfs")
	case kerberos && !qualified:
		return errorAt(p.opened, "Kerberos needs the full host name of the server as its label, such as "+
			"nas1.example.com; it is %q", s.Name)
	}
	return nil
}

func (p *parser) path(s *Server, value string) error {
	pair := PathPair{Local: p.local, Path: value}
	p.local = ""
	switch {
	case slices.Contains(s.Paths, pair):
		return p.errorf("the server has path %q already, with the same local", value)
	case len(s.Paths) == MaxPaths:
		return p.errorf("this is path number %d of the server; at most %d are allowed", MaxPaths+1, MaxPaths)
	}
	s.Paths = append(s.Paths, pair)
	return p.address(keyPath, value)
}

func (p *parser) address(key, value string) error {
	a, err := netip.ParseAddr(value)
	if err != nil && !isHostName(value) || err == nil && (a.IsUnspecified() || a.IsMulticast()) {
		return p.errorf("%s %q is neither the IP address of a host nor a host name; write the bare address", key, value)
	}
	return nil
}

// hostName allows underscores, which are not in the standard but in use. A name whose last label is
// a number is a mistyped IPv4 address.
//
//nolint:gochecknoglobals // constants in all but name
var (
	hostName   = regexp.MustCompile(`^\w[\w-]{0,62}(\.\w[\w-]{0,62})*$`)
	lastNumber = regexp.MustCompile(`(^|\.)\d+$`)
)

func isHostName(s string) bool {
	return len(s) <= maxNameBytes && hostName.MatchString(s) && !lastNumber.MatchString(s)
}

func (p *parser) security(into *Security, value string) error {
	*into = Security(strings.ToLower(value))
	if !slices.Contains([]Security{SecuritySys, SecurityKrb5, SecurityKrb5i, SecurityKrb5p}, *into) {
		return p.errorf("there is no security mode %q; write sys, krb5, krb5i or krb5p", value)
	}
	return nil
}

var exportLine = regexp.MustCompile(`(?i)^(\S+) +mount *: *(\S+)( +security *: *(\S+))?$`) //nolint:gochecknoglobals // a constant in all but name

// export reads the one line that has several keys.
func (p *parser) export(value string) error {
	m := exportLine.FindStringSubmatch(value)
	if m == nil {
		return p.errorf("the line of an export is %s; no path may have a blank", exportForm)
	}
	e := Export{Path: m[1], Mount: m[2]}
	for _, dir := range m[1:3] {
		if dir[0] != '/' || strings.Contains(dir, ":") || len(dir) > maxPathBytes {
			return p.errorf("%q has to be a path that begins with a slash, has no colon and at most %d characters", dir,
				maxPathBytes)
		}
	}
	if m[3] != "" {
		if err := p.security(&e.Security, m[4]); err != nil {
			return err
		}
	}
	if first, again := p.mounts[path.Clean(e.Mount)]; again {
		return p.errorf("mount %q is on line %d already; a mount point has one export", e.Mount, first)
	}
	p.mounts[path.Clean(e.Mount)] = p.line
	s := &p.servers[len(p.servers)-1]
	s.Exports = append(s.Exports, e)
	return nil
}
