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
		Message: strings.Map(printable, fmt.Sprintf(format, args...)),
	})
}
