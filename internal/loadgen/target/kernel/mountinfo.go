package kernel

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// mountEntry is one line of /proc/self/mountinfo; see proc_pid_mountinfo(5).
type mountEntry struct {
	device  string // major:minor
	point   string
	fstype  string
	source  string
	options []string // of the mount and of the file system
}

// findMount returns the mount that the path with this device number lies on: of
// all with the device the one with the longest mount point above the path, and
// of equal ones the last, which covers the others.
func findMount(r io.Reader, path, device string) (mountEntry, bool) {
	var best mountEntry
	found := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		e, ok := parseMount(lines.Text())
		if !ok || e.device != device || !isBelow(path, e.point) {
			continue
		}
		if !found || len(e.point) >= len(best.point) {
			best, found = e, true
		}
	}
	return best, found
}

func isBelow(path, point string) bool {
	return path == point || point == "/" || strings.HasPrefix(path, point+"/")
}

func parseMount(line string) (mountEntry, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 6 || len(right) < 2 {
		return mountEntry{}, false
	}
	e := mountEntry{device: left[2], point: unescape(left[4]), fstype: right[0], source: unescape(right[1])}
	e.options = strings.Split(left[5], ",")
	if len(right) > 2 {
		e.options = append(e.options, strings.Split(right[2], ",")...)
	}
	return e, true
}

// unescape undoes the octal escapes of blanks and backslashes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// facts turns a mount and the space of its file system into what is reported.
func (e mountEntry) facts(st *unix.Statfs_t) runfile.MountFacts {
	f := runfile.MountFacts{
		FilesystemType: e.fstype, Source: e.source, Options: e.options, DirectIO: true,
		TotalBytes: int64(st.Blocks) * st.Bsize, FreeBytes: int64(st.Bavail) * st.Bsize,
	}
	for _, o := range e.options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "vers":
			f.NFSVersion = "NFSv" + value // as plans spell it
			if value == "4" {
				f.NFSVersion = "NFSv4.0"
			}
		case "rsize":
			f.ReadSizeBytes, _ = strconv.ParseInt(value, 10, 64)
		case "wsize":
			f.WriteSizeBytes, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return f
}

func deviceName(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }
