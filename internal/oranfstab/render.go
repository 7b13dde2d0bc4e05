package oranfstab

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Render writes the file in its canonical form: the order of the package comment, lower case, one blank between
// words, an empty line between servers, and nothing that is not set.
//
// [Parse] reads the output back to the same File. Render fails, with Lint's message, on a File that Parse would
// refuse, and on values that would be read back differently, such as a value that would begin another line or
// attribute.
func Render(f File) (string, error) {
	if len(f.Servers) == 0 {
		return "", errors.New("render oranfstab: servers is empty")
	}
	var b strings.Builder
	for i, s := range f.Servers {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeServer(&b, s)
	}
	text := b.String()
	read, err := Parse([]byte(text))
	if perr := (*ParseError)(nil); errors.As(err, &perr) {
		// The places refer to a text that nobody sees.
		return "", fmt.Errorf("render oranfstab: %s", perr.Problems[0].Message)
	}
	// Parse never returns a nil slice of servers, so a copy of the servers is compared.
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

// writeLine writes a line, or nothing if the value is empty.
func writeLine(b *strings.Builder, key, value string) {
	if value != "" {
		b.WriteString(key + ": " + value + "\n")
	}
}
