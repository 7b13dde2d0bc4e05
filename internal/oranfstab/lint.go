package oranfstab

import (
	"net/netip"
	"path"
	"slices"
	"strings"
)

// checkBlocks checks rules that span several lines.
func checkBlocks(l *log, blocks []*block, last int) {
	if len(blocks) == 0 {
		l.fail("NoServer", word{line: last, column: 1}, `the file has no server; write "server: NAME", a path and an export`)
	}
	names, mounts := map[string]word{}, map[string]word{}
	for _, b := range blocks {
		if name := b.name; name.text != "" {
			// Labels are compared without case: Oracle does not document that case distinguishes them.
			if first, again := firstOf(names, strings.ToLower(name.text), name); again {
				l.fail("DuplicateServer", name, "server %q is on line %d already; labels have to be unique", name.text, first.line)
			}
			if !b.sawPath {
				l.fail("MissingPath", name, `server %q has no path; write "path: ADDRESS"`, name.text)
			}
			if !b.sawExport {
				l.fail("MissingExport", name, `server %q has no export; write "export: PATH mount: PATH"`, name.text)
			}
		}
		checkChannels(l, b)
		checkDuplicates(l, b, mounts)
		checkSecurities(l, b)
	}
}

// firstOf returns the first word with this key. If there was none, it records w and reports again as false.
func firstOf[K comparable](seen map[K]word, key K, w word) (first word, again bool) {
	first, again = seen[key]
	if !again {
		seen[key] = w
	}
	return first, again
}

func checkChannels(l *log, b *block) {
	type pair struct{ local, path string }
	seen := map[pair]word{}
	paired := slices.ContainsFunc(b.channels, func(c channel) bool { return c.local.text != "" })
	for _, c := range b.channels {
		if paired && c.local.text == "" {
			l.warn("MixedLocal", c.path, "path %s has no local, but others of the server have one; add a local line before it",
				c.path.text)
		}
		if first, again := firstOf(seen, pair{c.local.text, c.path.text}, c.path); again {
			l.fail("DuplicatePath", c.path, "path %s is on line %d already, with the same local", c.path.text, first.line)
		}
	}
	version, _ := parseVersion(b.singles[keyVersion].text)
	if len(b.channels) > 1 && (version == NFSv41 || version == PNFS) {
		l.warn("NoTrunking", b.channels[1].path, "%s with more than one path; with ONTAP keep one path per server", version)
	}
	paths, locals := map[netip.Prefix]word{}, map[netip.Prefix]word{}
	for _, c := range b.channels {
		checkSubnet(l, keyPath, c.path, paths)
		checkSubnet(l, keyLocal, c.local, locals)
	}
}

// checkSubnet warns of two addresses in one subnet. The file has no netmask, so it assumes /24 for IPv4 and /64 for
// IPv6.
func checkSubnet(l *log, name string, w word, seen map[netip.Prefix]word) {
	a, err := netip.ParseAddr(w.text)
	if err != nil {
		return
	}
	bits := 64
	if a = a.Unmap().WithZone(""); a.Is4() {
		bits = 24
	}
	net, err := a.Prefix(bits)
	if err != nil {
		return
	}
	if first, again := firstOf(seen, net, w); again {
		l.warn("SameSubnet", w, "%s %s seems to be in one subnet with %s on line %d (a /%d is assumed); give each path a "+
			"subnet of its own", name, w.text, first.text, first.line, bits)
	}
}

func checkDuplicates(l *log, b *block, mounts map[string]word) {
	exports := map[string]word{}
	for _, e := range b.exports {
		mount, export := cleaned(e.mount.text), path.Clean(e.path.text)
		if first, again := firstOf(mounts, mount, e.mount); again {
			l.fail("DuplicateMount", e.mount, "mount %q is on line %d already; a mount point has one export", mount, first.line)
		} else if first, again := firstOf(exports, export, e.path); again {
			l.warn("DuplicateExport", e.path, "export %q is on line %d already, with another mount", export, first.line)
		}
	}
}

// checkSecurities checks the modes against the version and the server label.
func checkSecurities(l *log, b *block) {
	modes := []word{b.singles[keySecurityDefault]}
	for _, e := range b.exports {
		modes = append(modes, e.security)
	}
	version, _ := parseVersion(b.singles[keyVersion].text)
	kerberos := false
	for _, w := range modes {
		mode, ok := parseSecurity(w.text)
		if !ok || mode == SecuritySys {
			continue
		}
		kerberos = true
		if version == PNFS {
			l.fail("PNFSSecurity", w, "pnfs works with security sys only; write sys, or another nfs_version than pnfs")
		}
	}
	if kerberos && b.name.text != "" && !isQualified(b.name.text) {
		l.fail("KerberosServerName", b.name,
			"Kerberos needs the full host name of the server as its label, such as nas1.example.com; it is %q", b.name.text)
	}
}

// server returns the block without positions. The block has no errors.
func (b *block) server() Server {
	s := Server{
		Name:       b.name.text,
		Management: b.singles[keyManagement].text,
		Community:  b.singles[keyCommunity].text,
	}
	for _, c := range b.channels {
		s.Paths = append(s.Paths, PathPair{Local: c.local.text, Path: c.path.text})
	}
	_, s.DontRoute = b.singles[keyDontRoute]
	s.Version, _ = parseVersion(b.singles[keyVersion].text)
	s.SecurityDefault, _ = parseSecurity(b.singles[keySecurityDefault].text)
	if n, ok := parseTimeout(b.singles[keyTimeout].text); ok {
		s.MountTimeoutSeconds = &n
	}
	if n, ok := parseID(b.singles[keyUID].text); ok {
		s.UID = &n
	}
	if n, ok := parseID(b.singles[keyGID].text); ok {
		s.GID = &n
	}
	for _, e := range b.exports {
		mode, _ := parseSecurity(e.security.text)
		s.Exports = append(s.Exports, Export{Path: e.path.text, Mount: e.mount.text, Security: mode})
	}
	return s
}
