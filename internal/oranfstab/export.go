package oranfstab

import "slices"

const exportForm = `"export: PATH mount: PATH [security: MODE]"`

// export reads the one line that has several keys.
func (p *parser) export(key word, rest []word) {
	p.block.sawExport = true
	var e exportLine
	e.path, rest = p.operand(key, rest, keyMount)
	if len(rest) == 0 {
		p.add(CodeExportWithoutMount, key, "the export has no mount on its line; write %s", exportForm)
		p.checkExport(e)
		return
	}
	key, rest = p.innerKey(rest)
	e.mount, rest = p.operand(key, rest, keySecurity)
	if len(rest) > 0 {
		key, rest = p.innerKey(rest)
		e.security, _ = p.operand(key, rest, "")
	}
	p.checkExport(e)
	if e.path.text != "" && e.mount.text != "" {
		p.block.exports = append(p.block.exports, e)
	}
}

// innerKey takes mount or security off the line.
func (p *parser) innerKey(words []word) (word, []word) {
	_, key, colon, rest := p.takeKey(words)
	if !colon {
		p.missingColon(key)
	}
	return key, rest
}

// operand returns the value of the key and what follows from the next key on.
// What stands between the two is reported.
func (p *parser) operand(key word, rest []word, next string) (value word, after []word) {
	own := rest
	i := slices.IndexFunc(rest, func(w word) bool { return next != "" && isKey(w, next) })
	if i >= 0 {
		own, after = rest[:i], rest[i:]
	}
	if len(own) == 0 {
		p.add(CodeMissingValue, key, "%s has no value; write %s", key.text, exportForm)
		return word{}, after
	}
	switch {
	case len(own) == 1:
	case i >= 0:
		p.add(CodePathWithBlank, own[1], "unexpected %q before %s; the line is %s, and no path may have a blank", own[1].text,
			next, exportForm)
	case next != keyMount: // else the missing mount is what is wrong
		p.add(CodeTrailingText, own[1], "unexpected %q; the line is %s, and no path may have a blank",
			own[1].text, exportForm)
	}
	return own[0], after
}

func (p *parser) checkExport(e exportLine) {
	p.checkDirectory(keyExport, e.path, checkPath)
	p.checkDirectory(keyMount, e.mount, checkMount)
	if isWindowsPath(e.mount.text) {
		p.add(CodeWindowsOnly, e.mount, "mount %q is a Windows path; on other systems write the path of the kernel mount",
			e.mount.text)
	}
	if e.security.text != "" {
		p.checkSecurity(e.security)
	}
}

func (p *parser) checkDirectory(name string, v word, check func(string) (complaint, Code)) {
	if v.text == "" {
		return
	}
	if c, code := check(v.text); c != "" {
		p.add(code, v, "%s %q %s", name, v.text, c)
		return
	}
	if clean := cleaned(v.text); clean != v.text {
		p.add(CodeUncleanPath, v, "%s %q has superfluous slashes or dots; write %q as the kernel's mount table does", name,
			v.text, clean)
	}
}
