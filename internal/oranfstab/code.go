package oranfstab

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
