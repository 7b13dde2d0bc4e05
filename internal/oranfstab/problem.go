package oranfstab

import (
	"fmt"
	"strings"
	"unicode"
)

// Severity says whether a file with the problem can be relied on.
type Severity string

// An Error breaks a documented rule. A Warning is legal or unconfirmed, but has
// cost people time.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Line     int // from 1
	Column   int // from 1, in characters
	Severity Severity
	Code     Code
	Message  string // what is wrong and what to write instead
	Effect   string // what Oracle does with it, as far as is known
}

// String returns the problem in the form that editors jump to, without a file
// name: "3:7: error: message".
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", p.Line, p.Column, p.Severity, p.Message)
}

// ParseError is what [Parse] returns for a file with problems of severity
// [Error]; Problems holds those, in the order of the file, and is not empty.
type ParseError struct {
	Problems []Problem
}

// Error tells the first problem and how many there are.
func (e *ParseError) Error() string {
	p := e.Problems[0]
	first := fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
	if n := len(e.Problems); n > 1 {
		return fmt.Sprintf("%s (and %d more)", first, n-1)
	}
	return first
}

func isError(p Problem) bool { return p.Severity == Error }

// Code names a rule. Codes are stable: scripts may match them.
type Code string

// The rules about characters.
const (
	CodeByteOrderMark     Code = "ByteOrderMark"
	CodeCarriageReturn    Code = "CarriageReturn"
	CodeTab               Code = "Tab"
	CodeNonASCII          Code = "NonASCII"
	CodeNonASCIIComment   Code = "NonASCIIComment"
	CodeControlCharacter  Code = "ControlCharacter"
	CodeNoFinalNewline    Code = "NoFinalNewline"
	CodeBadCharacter      Code = "BadCharacter"
	CodeInlineComment     Code = "InlineComment"
	CodeBlankBeforeColon  Code = "BlankBeforeColon"
	CodeNoBlankAfterColon Code = "NoBlankAfterColon"
)

// The rules about lines and blocks.
const (
	CodeUnknownKey              Code = "UnknownKey"
	CodeKeyCase                 Code = "KeyCase"
	CodeMissingColon            Code = "MissingColon"
	CodeMissingValue            Code = "MissingValue"
	CodeTrailingText            Code = "TrailingText"
	CodeDuplicateKey            Code = "DuplicateKey"
	CodeNoServer                Code = "NoServer"
	CodeAttributeBeforeServer   Code = "AttributeBeforeServer"
	CodeDuplicateServer         Code = "DuplicateServer"
	CodeMissingPath             Code = "MissingPath"
	CodeTooManyPaths            Code = "TooManyPaths"
	CodeDuplicatePath           Code = "DuplicatePath"
	CodeLocalWithoutPath        Code = "LocalWithoutPath"
	CodeMixedLocal              Code = "MixedLocal"
	CodeMissingExport           Code = "MissingExport"
	CodeExportWithoutMount      Code = "ExportWithoutMount"
	CodeMountNotOnExportLine    Code = "MountNotOnExportLine"
	CodeSecurityNotOnExportLine Code = "SecurityNotOnExportLine"
	CodePathWithBlank           Code = "PathWithBlank"
	CodeDuplicateExport         Code = "DuplicateExport"
	CodeDuplicateMount          Code = "DuplicateMount"
	CodeDontRouteSpelling       Code = "DontRouteSpelling"
	CodeDontRouteColon          Code = "DontRouteColon"
	CodeVersionAfterExport      Code = "VersionAfterExport"
)

// The rules about values.
const (
	CodeUnknownVersion     Code = "UnknownVersion"
	CodeUnknownSecurity    Code = "UnknownSecurity"
	CodeBadTimeout         Code = "BadTimeout"
	CodeBadID              Code = "BadID"
	CodeBadAddress         Code = "BadAddress"
	CodeRelativePath       Code = "RelativePath"
	CodeUncleanPath        Code = "UncleanPath"
	CodeTooLong            Code = "TooLong"
	CodeWindowsOnly        Code = "WindowsOnly"
	CodeRootIDIgnored      Code = "RootIDIgnored"
	CodePNFSSecurity       Code = "PNFSSecurity"
	CodeKerberosServerName Code = "KerberosServerName"
	CodeNoTrunking         Code = "NoTrunking"
	CodeSameSubnet         Code = "SameSubnet"
	CodeHostName           Code = "HostName"
	CodeIPv6Address        Code = "IPv6Address"
)

// severity returns Warning for the rules that a working file may break.
func severity(c Code) Severity {
	switch c {
	case CodeCarriageReturn, CodeTab, CodeNonASCIIComment, CodeNoFinalNewline,
		CodeInlineComment, CodeBlankBeforeColon, CodeNoBlankAfterColon, CodeKeyCase,
		CodeMixedLocal, CodeDuplicateExport, CodeDontRouteSpelling, CodeDontRouteColon,
		CodeVersionAfterExport, CodeUncleanPath, CodeWindowsOnly, CodeRootIDIgnored,
		CodeNoTrunking, CodeSameSubnet, CodeHostName, CodeIPv6Address:
		return Warning
	default:
		return Error
	}
}

// effect says what Oracle does with a file that breaks the rule, in sentences whose subject
// is Oracle. Each says what is documented, by whom, and what is not confirmed.
func effect(c Code) string {
	const (
		unseen       = "Not confirmed: the examples in Oracle's installation guides do not have this form."
		defaultValue = "May use the default value, ignore the file or hang at startup; which is not confirmed."
		fallback     = "Does not find the kernel's mount and silently leaves it to the kernel NFS client " +
			"(Oracle documentation)."
	)
	text, known := map[Code]string{
		CodeByteOrderMark:    "Probably takes the mark for a part of the first key, which is then unknown; not confirmed.",
		CodeCarriageReturn:   "May take the carriage return for a part of the value on Linux; not confirmed.",
		CodeTab:              unseen,
		CodeInlineComment:    unseen,
		CodeBlankBeforeColon: unseen,
		CodeNoBlankAfterColon: "Documents a blank here; a book prints a working file that has none, so Oracle probably " +
			"takes it, which is not confirmed.",
		CodeNonASCIIComment: unseen,
		CodeKeyCase: "Documents keys in lower case, and Dontroute for Windows (19c, 21c); whether it takes other cases is " +
			"not confirmed.",
		CodeNoFinalNewline: "May not see the last line; not confirmed.",
		CodeNoServer:       "Finds nothing here and serves what the kernel has mounted, with NFSv3 over one path.",
		CodeMissingPath:    "Has no address to connect to for this server; what it does then is not confirmed.",
		CodeTooManyPaths: "Supports four per server (Oracle documentation); whether it ignores the rest or refuses the " +
			"file is not confirmed.",
		CodeDuplicatePath: "Opens a second channel between the same two addresses at best, which adds no bandwidth; not " +
			"confirmed.",
		CodeLocalWithoutPath: "Pairs each local with the path that follows it (Oracle documentation); without one it may " +
			"leave the route to the operating system, not confirmed.",
		CodeMixedLocal:      "Leaves the route of this path to the operating system (Oracle documentation).",
		CodeDuplicateServer: "Requires unique labels (Oracle documentation); which of the two it uses is not confirmed.",
		CodeDuplicateKey:    "Uses one of the two; which is not confirmed.",
		CodeDontRouteSpelling: "Documents dontroute; older files have donotroute, and whether that is still accepted is " +
			"not confirmed.",
		CodeDontRouteColon: "Documents dontroute as a bare word; whether it accepts a colon is not confirmed.",
		CodeVersionAfterExport: "May use NFSv3 for the exports above the line. One report says that the order matters; not " +
			"confirmed.",
		CodeMissingExport: "Uses this server for no file: a mount that no export line names gets one path and NFSv3, or " +
			"the kernel NFS client.",
		CodeRelativePath:  fallback,
		CodePathWithBlank: fallback,
		CodeUncleanPath: "Compares with the kernel's mount table, which has no such slashes or dots; if the comparison is " +
			"literal (not confirmed), it silently leaves the mount to the kernel NFS client.",
		CodeDuplicateMount: "Can serve one mount point from one export only; which of the two it uses is not confirmed.",
		CodeDuplicateExport: "Serves both mounts; with Direct NFS the kernel mounts of one volume need nosharecache when " +
			"they are nested (NetApp documentation).",
		CodeTooLong:         "Shows no more than this in V$DNFS_SERVERS; what it does with more is not confirmed.",
		CodeUnknownVersion:  defaultValue,
		CodeUnknownSecurity: defaultValue,
		CodeBadTimeout:      defaultValue,
		CodeBadID:           defaultValue,
		CodeWindowsOnly:     "Documents this for Windows only; what it does with it elsewhere is not confirmed.",
		CodeRootIDIgnored:   "Ignores the value 0 (Oracle documentation); the default is 65534.",
		CodePNFSSecurity: "Supports Parallel NFS with security sys only (Oracle documentation); how it fails with another " +
			"is not confirmed.",
		CodeKerberosServerName: "Requires the fully qualified host name as the label for Kerberos (Oracle documentation); " +
			"how it fails without is not confirmed.",
		CodeBadAddress: "Cannot connect to it; whether it uses the other paths or hangs at startup is not confirmed.",
		CodeNoTrunking: "Gets no multipath over NFSv4.1 from ONTAP, which has no client ID trunking (NetApp " +
			"documentation). For pNFS and for other servers: not confirmed.",
		CodeSameSubnet: "Does not get several paths in one subnet to work properly on Linux, not even with dontroute " +
			"(Oracle and NetApp documentation).",
		CodeHostName: "Can crash or corrupt data when the address changes between two lookups, as with round robin DNS " +
			"(NetApp documentation).",
		CodeIPv6Address: "Whether it accepts IPv6 addresses here is not confirmed.",
	}[c]
	if !known {
		// NetApp's guide warns of both outcomes of small syntax errors and says no more.
		return "Hangs at startup, or silently ignores the file and uses the kernel NFS client. " +
			"NetApp documents both for small syntax errors; which of them this one causes is not confirmed."
	}
	return text
}

// log collects problems. Its methods take the word that the problem is about.
type log struct{ problems []Problem }

func (l *log) add(c Code, w word, format string, args ...any) {
	printable := func(r rune) rune { // what a file contains must not act on a terminal
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	l.problems = append(l.problems, Problem{
		Line: w.line, Column: w.column, Severity: severity(c), Code: c,
		Message: strings.Map(printable, fmt.Sprintf(format, args...)), Effect: effect(c),
	})
}
