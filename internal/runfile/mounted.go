package runfile

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// MountedExport identifies the export of a mount. A pod of a run sends it to the operator in its termination
// message.
type MountedExport struct {
	Server string `json:"server"`
	Path   string `json:"path"`
}

// maxMountedBytes is the part of a termination message that Kubernetes keeps.
const maxMountedBytes = 4096

const maxExportPath = 1024

// The patterns of storage.export in the API.
var (
	exportServer = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?$`)
	exportPath   = regexp.MustCompile(`^/[^\s#:]*$`)
)

// ParseMountedExport parses the source of an NFS mount, such as 192.0.2.1:/vol/data or
// [2001:db8::1]:/vol/data.
func ParseMountedExport(source string) (MountedExport, error) {
	server, path, ok := CutMountSource(source)
	if !ok {
		return MountedExport{}, fmt.Errorf("the mount has the source %.100q, which is not SERVER:/PATH", source)
	}
	m := MountedExport{Server: server, Path: path}
	return m, m.validate()
}

// MountSource returns the source of a mount in the kernel's form: with brackets around an IPv6 address.
func MountSource(server, path string) string {
	if strings.Contains(server, ":") {
		server = "[" + server + "]"
	}
	return server + ":" + path
}

// CutMountSource reverses MountSource. It does not validate server and path.
func CutMountSource(source string) (server, path string, ok bool) {
	at := strings.Index(source, ":/")
	if strings.HasPrefix(source, "[") {
		at = strings.Index(source, "]:/") + 1
	}
	if at < 1 {
		return "", "", false
	}
	return strings.Trim(source[:at], "[]"), source[at+1:], true
}

// ReadMountedExport reads and validates the JSON from a pod.
func ReadMountedExport(r io.Reader) (MountedExport, error) {
	var m MountedExport
	if err := json.NewDecoder(io.LimitReader(r, maxMountedBytes)).Decode(&m); err != nil {
		return m, fmt.Errorf("read the export of a mount: %w", err)
	}
	return m, m.validate()
}

func (m MountedExport) validate() error {
	if !exportServer.MatchString(m.Server) || !exportPath.MatchString(m.Path) || len(m.Path) > maxExportPath {
		return fmt.Errorf("the mount has the server %.100q and the path %.100q: one of them is not valid in an export",
			m.Server, m.Path)
	}
	return nil
}
