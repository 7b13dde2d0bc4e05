package oranfstab

// Texts that several rules share. Each says what is documented, by whom, and
// what is not.
const (
	// NetApp's guide warns of both outcomes and says no more.
	effectSyntax = "Hangs at startup, or silently ignores the file and uses the kernel NFS client. " +
		"NetApp documents both for small syntax errors; which of them this one causes is not confirmed."
	effectDefault  = "May use the default value, ignore the file or hang at startup; which is not confirmed."
	effectUnseen   = "Not confirmed: no Oracle document and no working file that is known has this form."
	effectFallback = "Does not find the kernel's mount and silently leaves it to the kernel NFS client (Oracle " +
		"documentation)."
)

// effect says what Oracle does with a file that breaks the rule, in sentences
// whose subject is Oracle.
func effect(c Code) string {
	for _, of := range []func(Code) string{characterEffect, blockEffect, exportEffect, valueEffect, networkEffect} {
		if text := of(c); text != "" {
			return text
		}
	}
	return effectSyntax
}

func characterEffect(c Code) string {
	switch c {
	case CodeByteOrderMark:
		return "Probably takes the mark for a part of the first key, which is then unknown; not confirmed."
	case CodeCarriageReturn:
		return "May take the carriage return for a part of the value on Linux; not confirmed."
	case CodeTab, CodeInlineComment, CodeBlankBeforeColon, CodeNoBlankAfterColon, CodeNonASCIIComment, CodeKeyCase:
		return effectUnseen
	case CodeNoFinalNewline:
		return "May not see the last line; not confirmed."
	default:
		return ""
	}
}

func blockEffect(c Code) string {
	switch c {
	case CodeNoServer:
		return "Finds nothing here and serves what the kernel has mounted, with NFSv3 over one path."
	case CodeMissingPath:
		return "Has no address to connect to for this server; what it does then is not confirmed."
	case CodeTooManyPaths:
		return "Supports four per server (Oracle documentation); whether it ignores the rest or refuses the file is not " +
			"confirmed."
	case CodeDuplicatePath:
		return "Opens a second channel between the same two addresses at best, which adds no bandwidth; not confirmed."
	case CodeLocalWithoutPath:
		return "Pairs each local with the path that follows it (Oracle documentation); without one it may leave the route " +
			"to the operating system, not confirmed."
	case CodeMixedLocal:
		return "Leaves the route of this path to the operating system (Oracle documentation)."
	case CodeDuplicateServer:
		return "Requires unique labels (Oracle documentation); which of the two it uses is not confirmed."
	case CodeDuplicateKey:
		return "Uses one of the two; which is not confirmed."
	case CodeDontRouteSpelling:
		return "Documents dontroute; older files have donotroute, and whether that is still accepted is not confirmed."
	case CodeDontRouteColon:
		return "Documents dontroute as a bare word; whether it accepts a colon is not confirmed."
	case CodeVersionAfterExport:
		return "May use NFSv3 for the exports above the line. One report says that the order matters; not confirmed."
	default:
		return ""
	}
}

func exportEffect(c Code) string {
	switch c {
	case CodeMissingExport:
		return "Uses this server for no file: a mount that no export line names gets one path and NFSv3, or the kernel " +
			"NFS client."
	case CodeRelativePath, CodePathWithBlank:
		return effectFallback
	case CodeUncleanPath:
		return "Compares with the kernel's mount table, which has no such slashes or dots; if the comparison is literal " +
			"(not confirmed), " +
			"it silently leaves the mount to the kernel NFS client."
	case CodeDuplicateMount:
		return "Can serve one mount point from one export only; which of the two it uses is not confirmed."
	case CodeDuplicateExport:
		return "Serves both mounts; with Direct NFS the kernel mounts of one volume need nosharecache when they are " +
			"nested (NetApp documentation)."
	case CodeTooLong:
		return "Shows no more than this in V$DNFS_SERVERS; what it does with more is not confirmed."
	default:
		return ""
	}
}

func valueEffect(c Code) string {
	switch c {
	case CodeUnknownVersion, CodeUnknownSecurity, CodeBadTimeout, CodeBadID:
		return effectDefault
	case CodeWindowsOnly:
		return "Documents this for Windows only; what it does with it elsewhere is not confirmed."
	case CodeRootIDIgnored:
		return "Ignores the value 0 (Oracle documentation); the default is 65534."
	case CodePNFSSecurity:
		return "Supports Parallel NFS with security sys only (Oracle documentation); how it fails with another is not " +
			"confirmed."
	case CodeKerberosServerName:
		return "Requires the fully qualified host name as the label for Kerberos (Oracle documentation); how it fails " +
			"without is not confirmed."
	default:
		return ""
	}
}

func networkEffect(c Code) string {
	switch c {
	case CodeBadAddress:
		return "Cannot connect to it; whether it uses the other paths or hangs at startup is not confirmed."
	case CodeNoTrunking:
		return "Gets no multipath over NFSv4.1 from ONTAP, which has no client ID trunking (NetApp documentation). For " +
			"pNFS and for other servers: not confirmed."
	case CodeSameSubnet:
		return "Does not get several paths in one subnet to work properly on Linux, not even with dontroute (Oracle and " +
			"NetApp documentation)."
	case CodeHostName:
		return "Can crash or corrupt data when the address changes between two lookups, as with round robin DNS (NetApp " +
			"documentation)."
	case CodeIPv6Address:
		return "Whether it accepts IPv6 addresses here is not confirmed."
	default:
		return ""
	}
}
