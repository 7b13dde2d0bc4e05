package oranfstab

import (
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/nearest"
)

// The keys, in the order in which the documentation of this package has them.
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

	// keyDoNotRoute is what the oldest examples have for dontroute.
	keyDoNotRoute = "donotroute"
)

func keys() []string {
	return []string{
		keyServer, keyLocal, keyPath, keyDontRoute, keyVersion, keySecurityDefault, keyTimeout,
		keyManagement, keyCommunity, keyUID, keyGID, keyExport, keyMount, keySecurity, keyDoNotRoute,
	}
}

// Parse reads the text of an oranfstab. Where [Lint] finds a problem of severity
// [Error], it returns a *[ParseError] with those problems and no File. Warnings
// do not stop it; [Lint] tells them.
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
	return p.blocks, p.sorted()
}

// parser reads statements into blocks. It goes on after an error as if the line
// had been right where it can, so that one mistake is reported once.
type parser struct {
	log
	blocks []*block
	block  *block // the one that attributes go to, nil before the first
	local  word   // the last local that had no path yet
}

// statement reads one line.
func (p *parser) statement(words []word) {
	name, key, colon, rest := p.takeKey(words)
	if !slices.Contains(keys(), name) {
		p.unknown(key)
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
	case keyMount:
		p.add(CodeMountNotOnExportLine, key, `mount has to follow the export on its line: "export: PATH mount: PATH"`)
	case keySecurity:
		p.add(CodeSecurityNotOnExportLine, key,
			`security has to follow the mount on the line of the export; for all exports of a server use security_default`)
	default:
		p.openBlock(key)
		p.attribute(name, key, colon, rest)
	}
}

func (p *parser) attribute(name string, key word, colon bool, rest []word) {
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

func (p *parser) unknown(key word) {
	if near := nearest.To(strings.ToLower(key.text), keys()); near != "" {
		p.add(CodeUnknownKey, key, "there is no key %q; did you mean %q?", key.text, near)
		return
	}
	p.add(CodeUnknownKey, key, "there is no key %q; remove the line, or write # before it", key.text)
}

func (p *parser) missingColon(key word) {
	p.add(CodeMissingColon, key, "%s has no colon; write %q", key.text, strings.ToLower(key.text)+":")
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
			p.add(CodeNoBlankAfterColon, value, "no blank stands between the colon and the value; add one")
			rest = append([]word{value}, rest...)
		}
	case len(rest) > 0 && rest[0].text[0] == ':':
		key, colon = first, true
		p.add(CodeBlankBeforeColon, rest[0].until(1), "a blank stands before the colon; remove it")
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
		p.add(CodeKeyCase, key, "keys are documented in lower case only; write %q", name)
	}
	return name, key, colon, rest
}

// isKey reports whether takeKey would find the name at the word.
func isKey(w word, name string) bool {
	key, _, _ := strings.Cut(w.text, ":")
	return strings.EqualFold(key, name)
}

// value returns the one value that a key must have.
func (p *parser) value(key word, rest []word) (word, bool) {
	if len(rest) == 0 {
		p.add(CodeMissingValue, key, "%s has no value", key.text)
		return word{}, false
	}
	if len(rest) > 1 {
		p.add(CodeTrailingText, rest[1], "unexpected %q behind the value of %s, which takes one word", rest[1].text, key.text)
	}
	return rest[0], true
}
