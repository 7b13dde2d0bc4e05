package procfs

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Mount is one line of /proc/self/mountinfo.
type Mount struct {
	Point   string
	Type    string // nfs, nfs4, ext4...
	Source  string
	Options []string // of the mount and of its file system, in effect, without duplicates
}

// IsNFS reports whether the kernel's NFS client serves the mount.
func (m Mount) IsNFS() bool { return m.Type == "nfs" || m.Type == "nfs4" }

// ParseMountInfo reads /proc/self/mountinfo, see proc_pid_mountinfo(5).
func ParseMountInfo(in io.Reader) ([]Mount, error) {
	var mounts []Mount
	scan := newScanner(in)
	for line := 1; scan.Scan(); line++ {
		fields := strings.Fields(scan.Text())
		// A hyphen ends the optional fields, which start at the seventh.
		end := slices.Index(fields, "-")
		if end < 6 || len(fields) < end+3 {
			return nil, fmt.Errorf("line %d is not of the form of mountinfo", line)
		}
		m := Mount{
			Point:  unescape(fields[4]),
			Type:   fields[end+1],
			Source: unescape(fields[end+2]),
		}
		m.addOptions(fields[5])
		if len(fields) > end+3 {
			m.addOptions(fields[end+3])
		}
		mounts = append(mounts, m)
	}
	return mounts, scan.Err()
}

func (m *Mount) addOptions(list string) {
	for option := range strings.SplitSeq(list, ",") {
		if option = unescape(option); option != "" && !slices.Contains(m.Options, option) {
			m.Options = append(m.Options, option)
		}
	}
}

// MountOf returns the mount that holds path: the one with the longest mount
// point that contains it, and of those mounted over each other the last.
func MountOf(mounts []Mount, path string) (Mount, bool) {
	var (
		best  Mount
		found bool
	)
	for _, m := range mounts {
		if contains(m.Point, path) && len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

func contains(point, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(point, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// unescape undoes the \ooo with which the kernel writes blanks and backslashes.
func unescape(word string) string {
	if !strings.Contains(word, `\`) {
		return word
	}
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		if b, ok := octal(word[i:]); ok {
			out.WriteByte(b)
			i += 3
			continue
		}
		out.WriteByte(word[i])
	}
	return out.String()
}

func octal(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' || s[1] > '3' {
		return 0, false
	}
	var value byte
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		value = value<<3 | (c - '0')
	}
	return value, true
}
