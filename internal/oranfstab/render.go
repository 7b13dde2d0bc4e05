package oranfstab

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Render writes the file in its canonical form: the order of the package
// comment, lower case, one blank between words, an empty line between servers,
// and nothing that is not set.
//
// It refuses a value that could begin another line or attribute, and a file that
// [Parse] would refuse; the error names the field. Errors of [Lint] that concern
// no single field are returned in Lint's words.
func Render(f File) (string, error) {
	if len(f.Servers) == 0 {
		return "", errors.New("render oranfstab: servers is empty")
	}
	var b strings.Builder
	for i, s := range f.Servers {
		if err := checkServer(s); err != nil {
			return "", fmt.Errorf("render oranfstab: servers[%d].%w", i, err)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		writeServer(&b, s)
	}
	text := b.String()
	read, err := Parse([]byte(text))
	if perr := (*ParseError)(nil); errors.As(err, &perr) {
		// Places in a file that nobody will see are of no use.
		return "", fmt.Errorf("render oranfstab: %s", perr.Problems[0].Message)
	}
	// The checks above are meant to be complete; this is what makes sure. Parse returns empty
	// slices of servers only, so the servers are copied.
	if !reflect.DeepEqual(read, File{Servers: append([]Server{}, f.Servers...)}) {
		return "", errors.New("render oranfstab: a value would be read back differently")
	}
	return text, nil
}

func writeServer(b *strings.Builder, s Server) {
	writeLine(b, keyServer, s.Name)
	for _, p := range s.Paths {
		writeLine(b, keyLocal, p.Local)
		writeLine(b, keyPath, p.Path)
	}
	if s.DontRoute {
		b.WriteString(keyDontRoute + "\n")
	}
	writeLine(b, keyVersion, string(s.Version))
	writeLine(b, keySecurityDefault, string(s.SecurityDefault))
	if s.MountTimeoutSeconds != nil {
		writeLine(b, keyTimeout, strconv.FormatInt(int64(*s.MountTimeoutSeconds), 10))
	}
	writeLine(b, keyManagement, s.Management)
	writeLine(b, keyCommunity, s.Community)
	if s.UID != nil {
		writeLine(b, keyUID, strconv.FormatUint(uint64(*s.UID), 10))
	}
	if s.GID != nil {
		writeLine(b, keyGID, strconv.FormatUint(uint64(*s.GID), 10))
	}
	for _, e := range s.Exports {
		b.WriteString(keyExport + ": " + e.Path + " " + keyMount + ": " + e.Mount)
		if e.Security != "" {
			b.WriteString(" " + keySecurity + ": " + string(e.Security))
		}
		b.WriteByte('\n')
	}
}

// writeLine writes nothing for an empty value.
func writeLine(b *strings.Builder, key, value string) {
	if value != "" {
		b.WriteString(key + ": " + value + "\n")
	}
}

// checkServer returns an error that begins with the name of the field.
func checkServer(s Server) error {
	if n := len(s.Paths); n == 0 || n > MaxPaths {
		return fmt.Errorf("paths has %d entries; 1 to %d are allowed", n, MaxPaths)
	}
	if len(s.Exports) == 0 {
		return errors.New("exports is empty")
	}
	if n := s.MountTimeoutSeconds; n != nil && *n <= 0 {
		return fmt.Errorf("mountTimeoutSeconds is %d; it must be positive", *n)
	}
	var first error
	check := func(optional bool, value string, wrong complaint, name string, args ...any) {
		name = fmt.Sprintf(name, args...)
		switch wrong = cmp.Or(checkASCII(value), wrong); {
		case first != nil || optional && value == "":
		case value == "":
			first = fmt.Errorf("%s is empty", name)
		case wrong != "":
			first = fmt.Errorf("%s %q %s", name, value, wrong)
		}
	}
	check(false, s.Name, checkLabel(s.Name), "name")
	check(true, string(s.Version), versionComplaint(s.Version), "version")
	check(true, string(s.SecurityDefault), securityComplaint(s.SecurityDefault), "securityDefault")
	check(true, s.Management, checkAddress(s.Management), "management")
	check(true, s.Community, checkLabel(s.Community), "community")
	for i, p := range s.Paths {
		check(true, p.Local, checkAddress(p.Local), "paths[%d].local", i)
		check(false, p.Path, checkAddress(p.Path), "paths[%d].path", i)
	}
	for i, e := range s.Exports {
		wrongPath, _ := checkPath(e.Path)
		wrongMount, _ := checkMount(e.Mount)
		check(false, e.Path, wrongPath, "exports[%d].path", i)
		check(false, e.Mount, wrongMount, "exports[%d].mount", i)
		check(true, string(e.Security), securityComplaint(e.Security), "exports[%d].security", i)
	}
	return first
}

// versionComplaint knows one spelling, that of the constants; Parse knows more.
func versionComplaint(v Version) complaint {
	if known, ok := parseVersion(string(v)); !ok || known != v {
		return "is none of nfsv3, nfsv4, nfsv4.1, pnfs"
	}
	return ""
}

func securityComplaint(v Security) complaint {
	if known, ok := parseSecurity(string(v)); !ok || known != v {
		return "is none of sys, krb5, krb5i, krb5p"
	}
	return ""
}
