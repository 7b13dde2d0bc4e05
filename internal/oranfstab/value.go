package oranfstab

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A complaint says what is wrong with a value, in words that follow the name of
// the value: "holds a quote". It is empty if the value is right.
type complaint = string

// checkToken reports characters that mean something else in the file.
func checkToken(s string) complaint {
	if i := strings.IndexAny(s, "#\"'"); i >= 0 {
		if s[i] == '#' {
			return "holds a #, which may begin a comment"
		}
		return fmt.Sprintf("holds a quote (%c); the file has no quoting", s[i])
	}
	return ""
}

// checkLabel checks server names and SNMP communities.
func checkLabel(s string) complaint {
	if c := checkToken(s); c != "" {
		return c
	}
	if strings.Contains(s, ":") {
		return "holds a colon, which ends a key"
	}
	return ""
}

func checkAddress(s string) complaint {
	if c := checkToken(s); c != "" {
		return c
	}
	if a, err := netip.ParseAddr(s); err == nil {
		if a.IsUnspecified() || a.IsMulticast() {
			return "is not the address of a host"
		}
		return ""
	}
	switch {
	case strings.Contains(s, ":/"):
		return "has an export in it; write the address here and the export in an export line"
	case strings.HasPrefix(s, "["):
		return "has brackets; write the bare address"
	case !isHostName(s):
		return "is neither an IP address nor a host name"
	default:
		return ""
	}
}

// isHostName reports whether s is a host name. It allows underscores, which the
// standard does not have but networks use. A name whose last label is a number
// is a mistyped IPv4 address.
func isHostName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		rest := strings.TrimFunc(l, func(r rune) bool {
			return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		})
		if l == "" || len(l) > 63 || l[0] == '-' || rest != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(s) <= maxNameBytes && strings.Trim(last, "0123456789") != ""
}

// isQualified reports whether a server name is fully qualified, as a Kerberos principal needs.
func isQualified(name string) bool {
	_, err := netip.ParseAddr(name)
	return err != nil && isHostName(name) && strings.Contains(name, ".")
}

// checkPath checks exports, and mount points that are not on Windows.
func checkPath(s string) (c complaint, code string) {
	if c := checkToken(s); c != "" {
		return c, "BadCharacter"
	}
	switch {
	case !strings.HasPrefix(s, "/") && strings.Contains(s, ":/"):
		return "has a server in it; write the path only", "RelativePath"
	case !strings.HasPrefix(s, "/"):
		return "does not begin with a slash", "RelativePath"
	case strings.Contains(s, ":"):
		return "holds a colon, which ends a key", "BadCharacter"
	case len(s) > maxPathBytes:
		return fmt.Sprintf("is longer than %d characters", maxPathBytes), "TooLong"
	default:
		return "", ""
	}
}

func checkMount(s string) (c complaint, code string) {
	if path, ok := windowsMount(s); ok {
		return checkPath("/" + path)
	}
	return checkPath(s)
}

// windowsMount returns the part of a Windows mount after the drive or the server. The forms are C:\DIRECTORY,
// nfs://SERVER/EXPORT, SERVER:/EXPORT and //SERVER/EXPORT.
func windowsMount(s string) (rest string, ok bool) {
	s = strings.ReplaceAll(s, `\`, "/")
	server, rest, ok := strings.Cut(s, ":/")
	nfs := ok && strings.EqualFold(server, "nfs")
	if !ok || nfs || len(server) > 1 && strings.HasPrefix(rest, "/") {
		if nfs {
			s = "/" + rest
		}
		if s, ok = strings.CutPrefix(s, "//"); !ok {
			return "", false
		}
		server, rest, ok = strings.Cut(s, "/")
	}
	_, err := netip.ParseAddr(strings.Trim(server, "[]"))
	return rest, ok && (err == nil || isHostName(server))
}

// cleaned returns the path as a kernel's mount table spells it.
func cleaned(s string) string {
	if _, windows := windowsMount(s); windows {
		return s
	}
	return path.Clean(s)
}

func parseVersion(s string) (Version, bool) {
	v := Version(strings.ToLower(s))
	return v, slices.Contains([]Version{NFSv3, NFSv4, NFSv41, PNFS}, v)
}

func parseSecurity(s string) (Security, bool) {
	v := Security(strings.ToLower(s))
	return v, slices.Contains([]Security{SecuritySys, SecurityKrb5, SecurityKrb5i, SecurityKrb5p}, v)
}

// parseTimeout parses a number of seconds. It refuses a sign and leading zeros:
// no example has them, and Render would not write them back.
func parseTimeout(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && strconv.FormatUint(n, 10) == s
}
