package oranfstab

import (
	"net/netip"
	"strings"
)

// block is a server block with the places of everything in it.
type block struct {
	name     word // without text if the server line is missing or has no value
	channels []channel
	locals   int
	singles  map[string]word // values of the keys that may appear once
	exports  []exportLine

	sawPath, sawExport bool // even where the value was unusable
}

type channel struct{ local, path word }

type exportLine struct{ path, mount, security word }

func (p *parser) server(key word, rest []word) {
	p.block = &block{singles: map[string]word{}}
	name, ok := p.value(key, rest)
	if c := checkLabel(name.text); ok && c != "" {
		p.add(CodeBadCharacter, name, "server %q %s", name.text, c)
	}
	if len(name.text) > maxNameBytes {
		p.add(CodeTooLong, name, "the server label is longer than %d characters", maxNameBytes)
	}
	p.block.name = name
	p.blocks = append(p.blocks, p.block)
}

// openBlock makes sure that an attribute has a block to go to.
func (p *parser) openBlock(key word) {
	if p.block != nil {
		return
	}
	p.add(CodeAttributeBeforeServer, key, `%s stands before any server line; begin the file with "server: NAME"`, key.text)
	p.block = &block{singles: map[string]word{}}
	p.blocks = append(p.blocks, p.block)
}

// dropLocal complains about a local that is still waiting for its path.
func (p *parser) dropLocal() {
	if p.local.text != "" {
		p.add(CodeLocalWithoutPath, p.local, `local %s is not followed by a path; write "path: ADDRESS" on the next line`,
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
	p.checkEndpoint(name, v)
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
		p.add(CodeTooManyPaths, key, "this is %s number %d of the server; at most %d are allowed", key.text, n, MaxPaths)
	}
}

func (p *parser) checkEndpoint(name string, v word) {
	if c := checkAddress(v.text); c != "" {
		p.add(CodeBadAddress, v, "%s %q %s", name, v.text, c)
		return
	}
	switch a, err := netip.ParseAddr(v.text); {
	case err != nil:
		p.add(CodeHostName, v, "%s %q is a host name; write the IP address", name, v.text)
	case a.Is6():
		p.add(CodeIPv6Address, v, "%s %s is an IPv6 address; use IPv4 unless you have seen this work", name, v.text)
	}
}

func (p *parser) dontRoute(name string, key word, colon bool, rest []word) {
	if name == keyDoNotRoute {
		p.add(CodeDontRouteSpelling, key, `%s is an old spelling; write "dontroute"`, key.text)
	}
	if colon {
		p.add(CodeDontRouteColon, key, `dontroute is a bare word; remove the colon`)
	}
	if len(rest) > 0 {
		p.add(CodeTrailingText, rest[0],
			"unexpected %q behind dontroute, which takes no value; to turn it off, remove the line", rest[0].text)
	}
	p.once(keyDontRoute, key, key)
}

// single reads a key that takes one value and may appear once in a block.
func (p *parser) single(name string, key word, rest []word) {
	if name == keyVersion && p.block.sawExport {
		p.add(CodeVersionAfterExport, key,
			"nfs_version stands behind an export line; put it before the first export of the server")
	}
	v, ok := p.value(key, rest)
	if !ok {
		return
	}
	p.once(name, key, v)
	switch name {
	case keyVersion:
		p.checkVersion(v)
	case keySecurityDefault:
		p.checkSecurity(v)
	case keyTimeout:
		if _, ok := parseTimeout(v.text); !ok {
			p.add(CodeBadTimeout, v, "mnt_timeout %q is not a positive number of seconds; write for example %d", v.text,
				DefaultMountTimeoutSeconds)
		}
	case keyManagement:
		if c := checkAddress(v.text); c != "" {
			p.add(CodeBadAddress, v, "management %q %s", v.text, c)
		}
	case keyCommunity:
		if c := checkLabel(v.text); c != "" {
			p.add(CodeBadCharacter, v, "community %q %s", v.text, c)
		}
	case keyUID, keyGID:
		p.checkID(name, key, v)
	}
}

func (p *parser) once(name string, key, value word) {
	if first, again := p.block.singles[name]; again {
		p.add(CodeDuplicateKey, key, "this server has %s on line %d already; remove one of them", name, first.line)
		return
	}
	p.block.singles[name] = value
}

func (p *parser) checkVersion(v word) {
	if _, ok := parseVersion(v.text); ok {
		return
	}
	if strings.EqualFold(v.text, "nfsv4.2") {
		p.add(CodeUnknownVersion, v, "Oracle has no NFSv4.2; write nfsv4.1")
		return
	}
	p.add(CodeUnknownVersion, v, "there is no nfs_version %q; write nfsv3, nfsv4, nfsv4.1 or pnfs", v.text)
}

func (p *parser) checkSecurity(v word) {
	if _, ok := parseSecurity(v.text); !ok {
		p.add(CodeUnknownSecurity, v, "there is no security mode %q; write sys, krb5, krb5i or krb5p", v.text)
	}
}

func (p *parser) checkID(name string, key, v word) {
	p.add(CodeWindowsOnly, key, "%s is for Windows; on other systems remove the line", name)
	id, ok := parseID(v.text)
	switch {
	case !ok:
		p.add(CodeBadID, v, "%s %q is not a number", name, v.text)
	case id == 0:
		p.add(CodeRootIDIgnored, v, "%s 0 has no effect; write the number of another user or remove the line", name)
	}
}
