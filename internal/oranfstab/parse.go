package oranfstab

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
)

// The keys, in the order of the package comment.
const (
	keyServer          = "server"
	keyLocal           = "local"
	keyPath            = "path"
	keyDontRoute       = "dontroute"
	keyVersion         = "nfs_version"
	keySecurityDefault = "security_default"
	keyTimeout         = "mnt_timeout"
	keyManagement      = "management"
	keyCommunity       = "community"
	keyUID             = "uid"
	keyGID             = "gid"
	keyExport          = "export"
	keyMount           = "mount"
	keySecurity        = "security"

	// keyDoNotRoute is the spelling of dontroute in the oldest examples.
	keyDoNotRoute = "donotroute"
)

func keys() []string {
	return []string{
		keyServer, keyLocal, keyPath, keyDontRoute, keyVersion, keySecurityDefault, keyTimeout,
		keyManagement, keyCommunity, keyUID, keyGID, keyExport, keyMount, keySecurity, keyDoNotRoute,
	}
}

// Parse reads the text of an oranfstab. Where [Lint] finds a problem of
// severity [Error], it returns a *[ParseError] with those problems and no File.
// Warnings do not stop it; [Lint] returns them.
//
// A File that Parse returns can be rendered, and parses to itself again.
func Parse(src []byte) (File, error) {
	servers, problems := analyse(string(src))
	if errs := slices.DeleteFunc(problems, func(p Problem) bool { return !isError(p) }); len(errs) > 0 {
		return File{}, &ParseError{Problems: errs}
	}
	f := File{Servers: make([]Server, 0, len(servers))}
	for _, b := range servers {
		f.Servers = append(f.Servers, b.server())
	}
	return f, nil
}

// Lint returns everything that is wrong or doubtful in the text of an oranfstab,
// in the order of the file. To check a [File], render it first.
func Lint(src []byte) []Problem {
	_, problems := analyse(string(src))
	return problems
}

// analyse parses the lines one by one and then checks the blocks as a whole.
func analyse(src string) ([]*block, []Problem) {
	var p parser
	lines, last := scan(&p.log, src)
	for _, words := range lines {
		p.statement(words)
	}
	p.dropLocal()
	checkBlocks(&p.log, p.blocks, last)
	// Sort by place. Problems of one place keep the order in which they were found.
	slices.SortStableFunc(p.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p.blocks, p.problems
}

// parser reads statements into blocks. After an error it continues, where it
// can, as if the line had been right, so that it reports one mistake once.
type parser struct {
	log
	blocks []*block
	block  *block // the block that attributes go to; nil before the first server line
	local  word   // the last local without a path so far
}

// block is a server block with the places of its words.
type block struct {
	name     word // without text if the server line is missing or has no value
	channels []channel
	locals   int
	singles  map[string]word // values of the keys that may appear once
	exports  []exportLine

	sawPath, sawExport bool // also if the value was unusable
}

type channel struct{ local, path word }

type exportLine struct{ path, mount, security word }

// statement reads one line.
func (p *parser) statement(words []word) {
	name, key, colon, rest := p.takeKey(words)
	if !slices.Contains(keys(), name) {
		hint := "remove the line, or write # before it"
		before, value, is := strings.Cut(key.text, "=")
		if near := human.Nearest(strings.ToLower(before), keys()); near != "" && is {
			hint = fmt.Sprintf("write %q", near+": "+value)
		} else if near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		p.fail("UnknownKey", key, "there is no key %q; %s", key.text, hint)
		return
	}
	if name != keyPath {
		p.dropLocal()
	}
	if !colon && name != keyDontRoute && name != keyDoNotRoute {
		p.missingColon(key)
	}
	switch name {
	case keyServer:
		p.server(key, rest)
		return
	case keyMount:
		p.fail("MountNotOnExportLine", key, `mount has to follow the export on its line: "export: PATH mount: PATH"`)
		return
	case keySecurity:
		p.fail("SecurityNotOnExportLine", key,
			`security has to follow the mount on the line of the export; for all exports of a server use security_default`)
		return
	}
	if p.block == nil {
		p.fail("AttributeBeforeServer", key, `%s stands before any server line; begin the file with "server: NAME"`,
			key.text)
		p.openBlock(word{})
	}
	switch name {
	case keyLocal, keyPath:
		p.address(name, key, rest)
	case keyDontRoute, keyDoNotRoute:
		p.dontRoute(name, key, colon, rest)
	case keyExport:
		p.export(key, rest)
	default:
		p.single(name, key, rest)
	}
}

func (p *parser) missingColon(key word) {
	p.fail("MissingColon", key, "%s has no colon; write %q", key.text, strings.ToLower(key.text)+":")
}

// takeKey splits the key off a line, or off the rest of an export line. The name
// is the key in lower case.
func (p *parser) takeKey(words []word) (name string, key word, colon bool, rest []word) {
	first, rest := words[0], words[1:]
	i := strings.IndexByte(first.text, ':')
	switch {
	case i >= 0:
		key, colon = first.until(i), true
		if i+1 < len(first.text) {
			value := first.from(i + 1)
			p.warn("NoBlankAfterColon", value, "no blank stands between the colon and the value; add one")
			rest = append([]word{value}, rest...)
		}
	case len(rest) > 0 && rest[0].text[0] == ':':
		key, colon = first, true
		p.warn("BlankBeforeColon", rest[0].until(1), "a blank stands before the colon; remove it")
		if rest[0].text == ":" {
			rest = rest[1:]
		} else {
			rest = append([]word{rest[0].from(1)}, rest[1:]...)
		}
	default:
		key = first
	}
	name = strings.ToLower(key.text)
	if name != key.text && slices.Contains(keys(), name) {
		p.warn("KeyCase", key, "the documents for Linux have keys in lower case; write %q", name)
	}
	return name, key, colon, rest
}

// value returns the single value of a key.
func (p *parser) value(key word, rest []word) (word, bool) {
	if len(rest) == 0 {
		p.fail("MissingValue", key, "%s has no value", key.text)
		return word{}, false
	}
	if len(rest) > 1 {
		p.fail("TrailingText", rest[1], "unexpected %q behind the value of %s, which takes one word", rest[1].text, key.text)
	}
	return rest[0], true
}

func (p *parser) server(key word, rest []word) {
	name, ok := p.value(key, rest)
	if c := checkLabel(name.text); ok && c != "" {
		p.fail("BadCharacter", name, "server %q %s", name.text, c)
	}
	if len(name.text) > maxNameBytes {
		p.fail("TooLong", name, "the server label is longer than %d characters", maxNameBytes)
	}
	p.openBlock(name)
}

// openBlock starts a new block for the following attributes.
func (p *parser) openBlock(name word) {
	p.block = &block{name: name, singles: map[string]word{}}
	p.blocks = append(p.blocks, p.block)
}

// dropLocal reports a local without a path.
func (p *parser) dropLocal() {
	if p.local.text != "" {
		p.fail("LocalWithoutPath", p.local, `local %s is not followed by a path; write "path: ADDRESS" on the next line`,
			p.local.text)
	}
	p.local = word{}
}

func (p *parser) address(name string, key word, rest []word) {
	p.block.sawPath = p.block.sawPath || name == keyPath
	v, ok := p.value(key, rest)
	if !ok {
		p.local = word{}
		return
	}
	if c := checkAddress(v.text); c != "" {
		p.fail("BadAddress", v, "%s %q %s", name, v.text, c)
	} else {
		switch a, err := netip.ParseAddr(v.text); {
		case err != nil:
			p.warn("HostName", v, "%s %q is a host name; write the IP address", name, v.text)
		case a.Is6():
			p.warn("IPv6Address", v, "%s %s is an IPv6 address; use IPv4 unless you have seen this work", name, v.text)
		}
	}
	if name == keyLocal {
		p.local = v
		p.block.locals++
		p.checkCount(p.block.locals, key)
		return
	}
	p.block.channels = append(p.block.channels, channel{local: p.local, path: v})
	p.local = word{}
	p.checkCount(len(p.block.channels), key)
}

func (p *parser) checkCount(n int, key word) {
	if n == MaxPaths+1 {
		p.fail("TooManyPaths", key, "this is %s number %d of the server; at most %d are allowed", key.text, n, MaxPaths)
	}
}

func (p *parser) dontRoute(name string, key word, colon bool, rest []word) {
	if name == keyDoNotRoute {
		p.warn("DontRouteSpelling", key, `%s is an old spelling; write "dontroute"`, key.text)
	}
	if colon {
		p.warn("DontRouteColon", key, `dontroute is a bare word; remove the colon`)
	}
	if len(rest) > 0 {
		p.fail("TrailingText", rest[0],
			"unexpected %q behind dontroute, which takes no value; to turn it off, remove the line", rest[0].text)
	}
	p.once(keyDontRoute, key, key)
}

// single reads a key that takes one value and may appear at most once in a block.
func (p *parser) single(name string, key word, rest []word) {
	if name == keyVersion && p.block.sawExport {
		p.warn("VersionAfterExport", key,
			"nfs_version stands behind an export line; put it before the first export of the server")
	}
	v, ok := p.value(key, rest)
	if !ok {
		return
	}
	p.once(name, key, v)
	switch name {
	case keyVersion:
		switch _, ok := parseVersion(v.text); {
		case ok:
		case strings.EqualFold(v.text, "nfsv4.2"):
			p.fail("UnknownVersion", v, "Oracle has no NFSv4.2; write nfsv4.1")
		default:
			p.fail("UnknownVersion", v, "there is no nfs_version %q; write nfsv3, nfsv4, nfsv4.1 or pnfs", v.text)
		}
	case keySecurityDefault:
		p.checkSecurity(v)
	case keyTimeout:
		if _, ok := parseTimeout(v.text); !ok {
			p.fail("BadTimeout", v, "mnt_timeout %q is not a positive number of seconds; write for example %d", v.text,
				DefaultMountTimeoutSeconds)
		}
	case keyManagement:
		if c := checkAddress(v.text); c != "" {
			p.fail("BadAddress", v, "management %q %s", v.text, c)
		}
	case keyCommunity:
		if c := checkLabel(v.text); c != "" {
			p.fail("BadCharacter", v, "community %q %s", v.text, c)
		}
	case keyUID, keyGID:
		p.warn("WindowsOnly", key, "%s is for Windows; on other systems remove the line", name)
		switch id, ok := parseID(v.text); {
		case !ok:
			p.fail("BadID", v, "%s %q is not a number", name, v.text)
		case id == 0:
			p.warn("RootIDIgnored", v, "%s 0 has no effect; write the number of another user or remove the line", name)
		}
	}
}

func (p *parser) once(name string, key, value word) {
	if first, again := p.block.singles[name]; again {
		p.fail("DuplicateKey", key, "this server has %s on line %d already; remove one of them", name, first.line)
		return
	}
	p.block.singles[name] = value
}

func (p *parser) checkSecurity(v word) {
	if _, ok := parseSecurity(v.text); !ok {
		p.fail("UnknownSecurity", v, "there is no security mode %q; write sys, krb5, krb5i or krb5p", v.text)
	}
}

const exportForm = `"export: PATH mount: PATH [security: MODE]"`

// export reads an export line, which has several keys.
func (p *parser) export(key word, rest []word) {
	p.block.sawExport = true
	var e exportLine
	e.path, rest = p.operand(key, rest, keyMount)
	if len(rest) == 0 {
		p.fail("ExportWithoutMount", key, "the export has no mount on its line; write %s", exportForm)
		p.checkExport(e)
		return
	}
	key, rest = p.innerKey(rest)
	e.mount, rest = p.operand(key, rest, keySecurity)
	if len(rest) > 0 {
		key, rest = p.innerKey(rest)
		e.security, _ = p.operand(key, rest, "")
	}
	p.checkExport(e)
	if e.path.text != "" && e.mount.text != "" {
		p.block.exports = append(p.block.exports, e)
	}
}

// innerKey takes mount or security off the line.
func (p *parser) innerKey(words []word) (word, []word) {
	_, key, colon, rest := p.takeKey(words)
	if !colon {
		p.missingColon(key)
	}
	return key, rest
}

// operand returns the value of the key, and the words from the next key on. It
// reports words between the two.
func (p *parser) operand(key word, rest []word, next string) (value word, after []word) {
	own := rest
	i := slices.IndexFunc(rest, func(w word) bool {
		key, _, _ := strings.Cut(w.text, ":")
		return next != "" && strings.EqualFold(key, next)
	})
	if i >= 0 {
		own, after = rest[:i], rest[i:]
	}
	if len(own) == 0 {
		p.fail("MissingValue", key, "%s has no value; write %s", key.text, exportForm)
		return word{}, after
	}
	switch {
	case len(own) == 1:
	case i >= 0:
		p.fail("PathWithBlank", own[1], "unexpected %q before %s; the line is %s, and no path may have a blank", own[1].text,
			next, exportForm)
	case next != keyMount: // otherwise the missing mount is the mistake
		p.fail("TrailingText", own[1], "unexpected %q; the line is %s, and no path may have a blank",
			own[1].text, exportForm)
	}
	return own[0], after
}

func (p *parser) checkExport(e exportLine) {
	p.checkDirectory(keyExport, e.path, checkPath, path.Clean)
	p.checkDirectory(keyMount, e.mount, checkMount, cleaned)
	if _, windows := windowsMount(e.mount.text); windows {
		p.warn("WindowsOnly", e.mount, "mount %q is a Windows path; on other systems write the path of the kernel mount",
			e.mount.text)
	}
	if e.security.text != "" {
		p.checkSecurity(e.security)
	}
}

func (p *parser) checkDirectory(
	name string, v word, check func(string) (complaint, string), clean func(string) string,
) {
	if v.text == "" {
		return
	}
	if c, code := check(v.text); c != "" {
		p.fail(code, v, "%s %q %s", name, v.text, c)
		return
	}
	if now := clean(v.text); now != v.text {
		p.warn("UncleanPath", v, "%s %q has superfluous slashes or dots; write %q as the kernel's mount table does", name,
			v.text, now)
	}
}
