package oranfstab

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/human"
)

// ok is a block that breaks no rule; cases put their mistake before or behind.
const (
	head = "server: nas\npath: 10.0.1.1\n"
	tail = "export: /a mount: /b\n"
	ok   = head + tail
)

type ruleCase struct {
	reason string
	src    string
	want   []string // "line:column Code"
}

func ruleCases() map[string]ruleCase {
	all := map[string]ruleCase{}
	for _, group := range []map[string]ruleCase{characterCases(), lineCases(), blockCases(), exportCases(), valueCases(), networkCases()} {
		maps.Copy(all, group)
	}
	return all
}

func characterCases() map[string]ruleCase {
	return map[string]ruleCase{
		"byte order mark":      {"an editor's mark hides before the first key", "\ufeff" + ok, []string{"1:1 ByteOrderMark"}},
		"carriage returns":     {"a Windows file is told of once, not per line", strings.ReplaceAll(ok, "\n", "\r\n"), []string{"1:12 CarriageReturn"}},
		"tabs":                 {"tabs are told of once", "server:\tnas\npath:\t10.0.1.1\n" + tail, []string{"1:8 Tab"}},
		"no-break space":       {"a pasted blank is part of the word", head + "export:\u00a0/a mount: /b\n", []string{"3:8 NonASCII", "3:8 NoBlankAfterColon", "3:8 RelativePath"}},
		"not UTF-8":            {"Latin-1 is found too", ok + "# gr\xfcn\n", []string{"4:5 NonASCIIComment"}},
		"control character":    {"a bell cannot be seen", "server: n\aas\npath: 10.0.1.1\n" + tail, []string{"1:10 ControlCharacter"}},
		"no newline at end":    {"the last line may be lost", strings.TrimSuffix(ok, "\n"), []string{"3:21 NoFinalNewline"}},
		"quotes":               {"there is no quoting", `server: "nas"` + "\npath: 10.0.1.1\n" + tail, []string{"1:9 BadCharacter"}},
		"hash in a word":       {"it may begin a comment", head + "export: /a#b mount: /b\n", []string{"3:9 BadCharacter"}},
		"colon in a label":     {"it ends a key", "server: nas:1\npath: 10.0.1.1\n" + tail, []string{"1:9 BadCharacter"}},
		"colon in a community": {"it ends a key", head + "community: a:b\n" + tail, []string{"3:12 BadCharacter"}},
		"comment behind":       {"only comment lines are seen in working files", head + "nfs_version: nfsv3 # was 4\n" + tail, []string{"3:20 InlineComment"}},
		"blank before colon":   {"unconfirmed", "server : nas\npath :10.0.1.1\n" + tail, []string{"1:8 BlankBeforeColon", "2:6 BlankBeforeColon"}},
		"no blank after colon": {"unconfirmed", "server:nas\npath: 10.0.1.1\nexport:/a mount:/b\n", []string{"1:8 NoBlankAfterColon", "3:8 NoBlankAfterColon", "3:17 NoBlankAfterColon"}},
		"comments and blanks":  {"are no problem", "# x\n\n   \n  # y\n" + ok, nil},
	}
}

func lineCases() map[string]ruleCase {
	return map[string]ruleCase{
		"unknown key":          {"is not skipped in silence", "hello: world\n" + ok, []string{"1:1 UnknownKey"}},
		"only a colon":         {"the key may be missing", ": x\n" + ok, []string{"1:1 UnknownKey"}},
		"upper case key":       {"unconfirmed", "SERVER: nas\npath: 10.0.1.1\nexport: /a Mount: /b\n", []string{"1:1 KeyCase", "3:12 KeyCase"}},
		"missing colon":        {"the most common slip", "server nas\npath: 10.0.1.1\nexport /a mount /b\n", []string{"1:1 MissingColon", "3:1 MissingColon", "3:11 MissingColon"}},
		"missing values":       {"one per key", "server:\npath:\nlocal:\nnfs_version:\nexport: mount:\n", []string{"1:1 MissingValue", "2:1 MissingValue", "3:1 MissingValue", "4:1 MissingValue", "5:1 MissingValue", "5:9 MissingValue"}},
		"two addresses":        {"one per line", "server: nas\npath: 10.0.1.1 10.0.2.1\n" + tail, []string{"2:16 TrailingText"}},
		"value of dontroute":   {"yes would be taken for on, no too", head + "dontroute no\n" + tail, []string{"3:11 TrailingText"}},
		"mount options":        {"belong into fstab", head + "export: /a mount: /b rw,hard\n", []string{"3:22 TrailingText"}},
		"behind security":      {"nothing may stand", head + "export: /a mount: /b security: sys x\n", []string{"3:36 TrailingText"}},
		"repeated version":     {"which one holds?", head + "nfs_version: nfsv3\nnfs_version: nfsv4\n" + tail, []string{"4:1 DuplicateKey"}},
		"repeated dontroute":   {"in both spellings", head + "dontroute\ndonotroute\n" + tail, []string{"4:1 DontRouteSpelling", "4:1 DuplicateKey"}},
		"Dontroute":            {"is documented so for Windows", head + "Dontroute\n" + tail, []string{"3:1 KeyCase"}},
		"dontroute with colon": {"is documented bare", head + "dontroute:\n" + tail, []string{"3:1 DontRouteColon"}},
	}
}

func blockCases() map[string]ruleCase {
	four := "path: 10.0.1.1\npath: 10.0.2.1\npath: 10.0.3.1\npath: 10.0.4.1\n"
	return map[string]ruleCase{
		"empty":              {"an empty file does nothing", "", []string{"1:1 NoServer"}},
		"local only":         {"is no path", "server: nas\nlocal: 10.0.1.2\n" + tail, []string{"1:9 MissingPath", "2:8 LocalWithoutPath"}},
		"only comments":      {"neither does this", "# x\n", []string{"1:1 NoServer"}},
		"path before server": {"is told once per file", "path: 10.0.9.1\nnfs_version: nfsv3\n" + ok, []string{"1:1 AttributeBeforeServer"}},
		"same label":         {"in another case too", ok + "server: NAS\npath: 10.0.1.1\nexport: /c mount: /d\n", []string{"4:9 DuplicateServer"}},
		"no path":            {"nothing to connect to", "server: nas\n" + tail, []string{"1:9 MissingPath"}},
		"no export":          {"nothing to serve", head, []string{"1:9 MissingExport"}},
		"four paths":         {"are allowed", "server: nas\n" + four + tail, nil},
		"six paths":          {"the fifth is told, once", "server: nas\n" + four + "path: 10.0.5.1\npath: 10.0.6.1\n" + tail, []string{"6:1 TooManyPaths"}},
		"same pair twice":    {"adds nothing", "server: nas\npath: nas\npath: nas\n" + tail, []string{"2:7 HostName", "3:7 HostName", "3:7 DuplicatePath"}},
		"local at the end":   {"has no path", ok + "local: 10.0.1.2\n", []string{"4:8 LocalWithoutPath"}},
		"two locals":         {"the first has no path", "server: nas\nlocal: 10.0.1.2\nlocal: 10.0.2.2\npath: 10.0.2.1\n" + tail, []string{"2:8 LocalWithoutPath"}},
		"local, key, path":   {"pairs are neighbours", "server: nas\nlocal: 10.0.1.2\ndontroute\npath: 10.0.1.1\n" + tail, []string{"2:8 LocalWithoutPath"}},
		"local before server": {
			"belongs to nobody", "local: 10.0.1.2\n" + ok,
			[]string{"1:1 AttributeBeforeServer", "1:8 LocalWithoutPath"},
		},
		"some locals":              {"the rest is routed by the OS", "server: nas\nlocal: 10.0.1.2\npath: 10.0.1.1\npath: 10.0.2.1\n" + tail, []string{"4:7 MixedLocal"}},
		"comment between the pair": {"does not part it", "server: nas\nlocal: 10.0.1.2\n# x\n\npath: 10.0.1.1\n" + tail, nil},
		"old dontroute":            {"seen in old files", head + "donotroute\n" + tail, []string{"3:1 DontRouteSpelling"}},
		"version behind exports":   {"order may matter", ok + "nfs_version: nfsv4\n", []string{"4:1 VersionAfterExport"}},
	}
}

func exportCases() map[string]ruleCase {
	return map[string]ruleCase{
		"mount on its own line":    {"is told at both lines", head + "export: /a\nmount: /b\n", []string{"3:1 ExportWithoutMount", "4:1 MountNotOnExportLine"}},
		"no mount, other text":     {"is told once", head + "export: /a /b\n", []string{"3:1 ExportWithoutMount"}},
		"mount before export":      {"is the wrong order", head + "mount: /b export: /a\n", []string{"1:9 MissingExport", "3:1 MountNotOnExportLine"}},
		"security on its own line": {"needs the export", ok + "security: sys\n", []string{"4:1 SecurityNotOnExportLine"}},
		"blank in the export":      {"ends it", head + "export: /my data mount: /b\n", []string{"3:13 PathWithBlank"}},
		"blank in the mount":       {"ends it", head + "export: /a mount: /my data security: sys\n", []string{"3:23 PathWithBlank"}},
		"relative paths":           {"can match no mount", head + "export: a mount: b\n", []string{"3:9 RelativePath", "3:18 RelativePath"}},
		"server in the export":     {"as in mount(8)", head + "export: nas:/a mount: /b\n", []string{"3:9 RelativePath"}},
		"slash at the end":         {"is not in the mount table", head + "export: /a//c mount: /b/\n", []string{"3:9 UncleanPath", "3:22 UncleanPath"}},
		"export without a value":   {"does not take the mount point", head + "export: mount: /b\n" + tail, []string{"3:1 MissingValue"}},
		"letters before a blank":   {"columns count characters", head + "export: /\u00e4 b mount: /b\n", []string{"3:10 NonASCII", "3:12 PathWithBlank"}},
		"root":                     {"is a clean path", head + "export: / mount: /b\n", nil},
		"same mount":               {"across servers", ok + "server: n2\npath: 10.0.1.1\nexport: /c mount: /b/\n", []string{"6:19 UncleanPath", "6:19 DuplicateMount"}},
		"same export":              {"mounted twice", ok + "export: /a mount: /c\n", []string{"4:9 DuplicateExport"}},
		"same export elsewhere":    {"another server has its own /a", ok + "server: n2\npath: 10.0.1.1\nexport: /a mount: /c\n", nil},
		"long path":                {"V$DNFS_SERVERS ends at 1024", head + "export: /" + strings.Repeat("x", 1024) + " mount: /b\n", []string{"3:9 TooLong"}},
		"long label":               {"V$DNFS_SERVERS ends at 255", "server: " + strings.Repeat("x", 256) + "\npath: 10.0.1.1\n" + tail, []string{"1:9 TooLong"}},
		"Windows mount":            {"only there", head + "export: /a mount: C:\\b\n", []string{"3:19 WindowsOnly"}},
		"Windows mount, slash":     {"only there", head + "export: /a mount: C:/b\n", []string{"3:19 WindowsOnly"}},
		"Windows mount, URL":       {"only there", head + "export: /a mount: nfs://nas/a\n", []string{"3:19 WindowsOnly"}},
		"Windows mount, server":    {"only there", head + "export: /a mount:10.0.1.1:/a\n", []string{"3:18 NoBlankAfterColon", "3:18 WindowsOnly"}},
		"Windows mount, share":     {"only there", head + "export: /a mount: //nas/a\nexport: /b mount: \\\\nas\\b\n", []string{"3:19 WindowsOnly", "4:19 WindowsOnly"}},
		"Windows mount, IPv6":      {"only there", head + "export: /a mount: nfs://[fd00::1]/a\nexport: /b mount: [fd00::1]:/b\n", []string{"3:19 WindowsOnly", "4:19 WindowsOnly"}},
		"two slashes, no share":    {"a slash too many", head + "export: /a mount: //b\nexport: /c mount: //\n", []string{"3:19 UncleanPath", "4:19 UncleanPath"}},
		"a URL of something else":  {"is no mount", head + "export: /a mount: nfs:///a\nexport: /c mount: /x:/c\n", []string{"3:19 RelativePath", "4:19 BadCharacter"}},
		"a URL of another kind":    {"is no mount", head + "export: /a mount: smb://nas/a\n", []string{"3:19 RelativePath"}},
		"a share in the export":    {"only a mount is one", head + "export: //nas/a mount: /b\nexport: nfs://nas/c mount: /c\nexport: [fd00::1]:/d mount: /d\nexport: /e mount: nfs:/nas/e\n", []string{"3:9 UncleanPath", "4:9 RelativePath", "5:9 RelativePath", "6:19 RelativePath"}},
	}
}

func valueCases() map[string]ruleCase {
	return map[string]ruleCase{
		"versions of the documents": {"in their spelling", head + "nfs_version: NFSv4.1\n" + tail, nil},
		"unknown version":           {"there is no 4.0 in the file", head + "nfs_version: nfsv4.0\n" + tail, []string{"3:14 UnknownVersion"}},
		"NFSv4.2":                   {"Oracle has none", head + "nfs_version: nfsv4.2\n" + tail, []string{"3:14 UnknownVersion"}},
		"unknown security":          {"in both places", head + "security_default: none\nexport: /a mount: /b security: ntlm\n", []string{"3:19 UnknownSecurity", "4:32 UnknownSecurity"}},
		"timeout with a unit":       {"seconds have none", head + "mnt_timeout: 10m\n" + tail, []string{"3:14 BadTimeout"}},
		"timeout zero":              {"is not positive", head + "mnt_timeout: 0\n" + tail, []string{"3:14 BadTimeout"}},
		"timeout too large":         {"for 32 bits", head + "mnt_timeout: 2147483648\n" + tail, []string{"3:14 BadTimeout"}},
		"uid":                       {"Windows only", head + "uid: 1001\ngid: 0\n" + tail, []string{"3:1 WindowsOnly", "4:1 WindowsOnly", "4:6 RootIDIgnored"}},
		"timeout with zeros":        {"would not be written back", head + "mnt_timeout: 010\n" + tail, []string{"3:14 BadTimeout"}},
		"gid with zeros":            {"would not be written back", head + "gid: 010\n" + tail, []string{"3:1 WindowsOnly", "3:6 BadID"}},
		"uid by name":               {"is no number", head + "uid: oracle\n" + tail, []string{"3:1 WindowsOnly", "3:6 BadID"}},
		"pnfs with Kerberos":        {"by default and per export", "server: a.b\npath: 10.0.1.1\nnfs_version: pnfs\nsecurity_default: krb5\nexport: /a mount: /b security: krb5i\n", []string{"4:19 PNFSSecurity", "5:32 PNFSSecurity"}},
		"pnfs with sys":             {"is what works", head + "nfs_version: pnfs\nsecurity_default: sys\n" + tail, nil},
		"Kerberos, short label":     {"needs a full name", head + "export: /a mount: /b security: krb5\n", []string{"1:9 KerberosServerName"}},
		"Kerberos, address":         {"needs a full name", "server: 10.0.1.1\npath: 10.0.1.1\nsecurity_default: krb5\n" + tail, []string{"1:9 KerberosServerName"}},
		"Kerberos, full name":       {"is right", "server: nas.example.com\npath: 10.0.1.1\nsecurity_default: krb5\n" + tail, nil},
	}
}

func networkCases() map[string]ruleCase {
	two := func(a, b string) string { return "server: nas\npath: " + a + "\npath: " + b + "\n" }
	return map[string]ruleCase{
		"mistyped addresses": {"are no host names", "server: nas\npath: 10.0.1.300\nmanagement: 10.0.1\n" + tail, []string{"2:7 BadAddress", "3:13 BadAddress"}},
		"address and export": {"as in mount(8)", "server: nas\npath: 10.0.1.1:/a\n" + tail, []string{"2:7 BadAddress"}},
		"bracketed IPv6":     {"is for URLs", "server: nas\npath: [fd00::1]\n" + tail, []string{"2:7 BadAddress"}},
		"any address":        {"is no host", "server: nas\nlocal: 0.0.0.0\npath: 10.0.1.1\n" + tail, []string{"2:8 BadAddress"}},
		"host name":          {"may be round robin", "server: nas\npath: nas.example.com\n" + tail, []string{"2:7 HostName"}},
		"IPv6":               {"is unconfirmed", "server: nas\npath: fd00::1\n" + tail, []string{"2:7 IPv6Address"}},
		"4.1, two paths":     {"ONTAP does not trunk", two("10.0.1.1", "10.0.2.1") + "nfs_version: nfsv4.1\n" + tail, []string{"3:7 NoTrunking"}},
		"pnfs, two paths":    {"is NFSv4.1 too", two("10.0.1.1", "10.0.2.1") + "nfs_version: pnfs\n" + tail, []string{"3:7 NoTrunking"}},
		"IPv4 in IPv6":       {"has the mask of IPv4", two("::ffff:10.0.1.1", "::ffff:10.0.2.1") + tail, []string{"2:7 IPv6Address", "3:7 IPv6Address"}},
		"overlong host name": {"no resolver takes it", "server: nas\npath: " + strings.Repeat("x", 64) + "\n" + tail, []string{"2:7 BadAddress"}},
		"4.0, two paths":     {"is not said to fail", two("10.0.1.1", "10.0.2.1") + "nfs_version: nfsv4\n" + tail, nil},
		"one subnet":         {"does not work on Linux", two("10.0.1.1", "10.0.1.2") + tail, []string{"3:7 SameSubnet"}},
		"one IPv6 subnet":    {"a /64 is assumed", two("fd00::1", "fd00::2") + tail, []string{"2:7 IPv6Address", "3:7 IPv6Address", "3:7 SameSubnet"}},
		"one local subnet": {
			"both ends count", "server: nas\nlocal: 10.0.9.1\npath: 10.0.1.1\nlocal: 10.0.9.1\npath: 10.0.2.1\n" + tail,
			[]string{"4:8 SameSubnet"},
		},
		"one path in the subnet of its local": {"is normal", "server: nas\nlocal: 10.0.1.2\npath: 10.0.1.1\n" + tail, nil},
	}
}

func TestLintFindsTheMistakeWhereItIs(t *testing.T) {
	for name, tc := range ruleCases() {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range Lint([]byte(tc.src)) {
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Code))
				if p.Message == "" {
					t.Errorf("%s has no message", p.Code)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, tc.src)
			}
		})
	}
}

func TestMessagesDoNotCarryControlCharacters(t *testing.T) {
	for _, p := range Lint([]byte("server: nas\nlocal: \x1b[31m\n")) {
		if strings.Contains(p.Message, "\x1b") {
			t.Errorf("%s: the message would act on a terminal: %q", p.Code, p.Message)
		}
	}
}

func TestEveryRuleHasACase(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range ruleCases() {
		for _, w := range tc.want {
			_, code, _ := strings.Cut(w, " ")
			seen[code] = true
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"([A-Z]\w+)"`).FindAllSubmatch(src, -1) { // no other word there has a capital
			codes[string(m[1])] = true
		}
	}
	if diff := cmp.Diff(codes, seen); diff != "" {
		t.Errorf("codes and codes with a case (-codes +cases):\n%s", diff)
	}
}

func TestAnUnknownKeyIsAnsweredWithWhatToWrite(t *testing.T) {
	for line, want := range map[string]string{
		"NFS_version=NFSv4.1": `write "nfs_version: NFSv4.1"`, "Dontrout": `did you mean "dontroute"?`, "wsize=4": "remove the line",
	} {
		if _, err := Parse([]byte(head + line + "\n" + tail)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestUnknownKeysAreAnsweredWithTheNearest(t *testing.T) {
	cases := map[string]string{
		"exports": "export", "sever": "server", "nfsversion": "nfs_version", "mnt-timeout": "mnt_timeout",
		"dontrout": "dontroute", "wsize": "", "": "", "mid": "",
	}
	for typed, want := range cases {
		if got := human.Nearest(typed, keys()); got != want {
			t.Errorf("nearest to %q is %q, want %q", typed, got, want)
		}
	}
}
