package oranfstab

import (
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
	// The checks above are meant to be complete; this is what makes sure.
	if !reflect.DeepEqual(read, withoutEmpty(f)) {
		return "", errors.New("render oranfstab: a value would be read back differently")
	}
	return text, nil
}

// withoutEmpty copies the servers only; Parse has no other empty slices.
func withoutEmpty(f File) File {
	return File{Servers: append([]Server{}, f.Servers...)}
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
	for _, id := range []struct {
		key string
		n   *uint32
	}{{keyUID, s.UID}, {keyGID, s.GID}} {
		if id.n != nil {
			writeLine(b, id.key, strconv.FormatUint(uint64(*id.n), 10))
		}
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

// field is a value of a server on its way into the file.
type field struct {
	name, value string
	optional    bool
	check       func(string) complaint
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
	for _, f := range fields(s) {
		if f.value == "" {
			if !f.optional {
				return fmt.Errorf("%s is empty", f.name)
			}
			continue
		}
		c := checkASCII(f.value)
		if c == "" {
			c = f.check(f.value)
		}
		if c != "" {
			return fmt.Errorf("%s %q %s", f.name, f.value, c)
		}
	}
	return nil
}

func fields(s Server) []field {
	fs := []field{
		{"name", s.Name, false, checkLabel},
		{"version", string(s.Version), true, versionComplaint},
		{"securityDefault", string(s.SecurityDefault), true, securityComplaint},
		{"management", s.Management, true, checkAddress},
		{"community", s.Community, true, checkLabel},
	}
	for i, p := range s.Paths {
		fs = append(fs,
			field{fmt.Sprintf("paths[%d].local", i), p.Local, true, checkAddress},
			field{fmt.Sprintf("paths[%d].path", i), p.Path, false, checkAddress})
	}
	for i, e := range s.Exports {
		fs = append(fs,
			field{fmt.Sprintf("exports[%d].path", i), e.Path, false, onlyComplaint(checkPath)},
			field{fmt.Sprintf("exports[%d].mount", i), e.Mount, false, onlyComplaint(checkMount)},
			field{fmt.Sprintf("exports[%d].security", i), string(e.Security), true, securityComplaint})
	}
	return fs
}

func onlyComplaint(check func(string) (complaint, Code)) func(string) complaint {
	return func(s string) complaint {
		c, _ := check(s)
		return c
	}
}

// versionComplaint knows one spelling, that of the constants; Parse knows more.
func versionComplaint(s string) complaint {
	if v, ok := parseVersion(s); !ok || string(v) != s {
		return "is none of nfsv3, nfsv4, nfsv4.1, pnfs"
	}
	return ""
}

func securityComplaint(s string) complaint {
	if v, ok := parseSecurity(s); !ok || string(v) != s {
		return "is none of sys, krb5, krb5i, krb5p"
	}
	return ""
}
