package oranfstab

// Effects that several rules share.
const (
	// NetApp's guide warns of both outcomes and says no more.
	effectSyntax = "Hangs at startup, or silently ignores the file and uses the kernel NFS client. " +
		"NetApp documents both for small syntax errors; which of them this one causes is not confirmed."
	effectDefault  = "May use the default value, ignore the file or hang at startup; which is not confirmed."
	effectUnseen   = "Not confirmed: no Oracle document and no working file that is known has this form."
	effectFallback = "Does not find the kernel's mount and silently leaves it to the kernel NFS client (Oracle " +
		"documentation)."
)

// rule is the severity of a rule, and what Oracle does with a file that breaks it, in
// sentences whose subject is Oracle: what is documented, by whom, and what is not.
// A working file may break a rule of severity Warning.
type rule struct {
	severity Severity
	effect   string
}

// ruleOf returns the rule of a code. Syntax errors share one.
func ruleOf(c Code) rule {
	r, ok := map[Code]rule{
		CodeByteOrderMark: {Error, "Probably takes the mark for a part of the first key, which is then unknown; not " +
			"confirmed."},
		CodeCarriageReturn:   {Warning, "May take the carriage return for a part of the value on Linux; not confirmed."},
		CodeTab:              {Warning, effectUnseen},
		CodeInlineComment:    {Warning, effectUnseen},
		CodeBlankBeforeColon: {Warning, effectUnseen}, CodeNoBlankAfterColon: {Warning, effectUnseen},
		CodeNonASCIIComment: {Warning, effectUnseen}, CodeKeyCase: {Warning, effectUnseen},
		CodeNoFinalNewline: {Warning, "May not see the last line; not confirmed."},

		CodeNoServer:    {Error, "Finds nothing here and serves what the kernel has mounted, with NFSv3 over one path."},
		CodeMissingPath: {Error, "Has no address to connect to for this server; what it does then is not confirmed."},
		CodeTooManyPaths: {Error, "Supports four per server (Oracle documentation); whether it ignores the rest or refuses " +
			"the file is not confirmed."},
		CodeDuplicatePath: {Error, "Opens a second channel between the same two addresses at best, which adds no " +
			"bandwidth; " +
			"not confirmed."},
		CodeLocalWithoutPath: {Error, "Pairs each local with the path that follows it (Oracle documentation); without one " +
			"it " +
			"may leave the route to the operating system, not confirmed."},
		CodeMixedLocal: {Warning, "Leaves the route of this path to the operating system (Oracle documentation)."},
		CodeDuplicateServer: {Error, "Requires unique labels (Oracle documentation); which of the two it uses is not " +
			"confirmed."},
		CodeDuplicateKey: {Error, "Uses one of the two; which is not confirmed."},
		CodeDontRouteSpelling: {Warning, "Documents dontroute; older files have donotroute, and whether that is still " +
			"accepted is not confirmed."},
		CodeDontRouteColon: {Warning, "Documents dontroute as a bare word; whether it accepts a colon is not confirmed."},
		CodeVersionAfterExport: {Warning, "May use NFSv3 for the exports above the line. One report says that the order " +
			"matters; not confirmed."},

		CodeMissingExport: {Error, "Uses this server for no file: a mount that no export line names gets one path and " +
			"NFSv3, " +
			"or the kernel NFS client."},
		CodeRelativePath: {Error, effectFallback}, CodePathWithBlank: {Error, effectFallback},
		CodeUncleanPath: {Warning, "Compares with the kernel's mount table, which has no such slashes or dots; if the " +
			"comparison is literal (not confirmed), it silently leaves the mount to the kernel NFS client."},
		CodeDuplicateMount: {Error, "Can serve one mount point from one export only; which of the two it uses is not " +
			"confirmed."},
		CodeDuplicateExport: {Warning, "Serves both mounts; with Direct NFS the kernel mounts of one volume need " +
			"nosharecache when they are nested (NetApp documentation)."},
		CodeTooLong: {Error, "Shows no more than this in V$DNFS_SERVERS; what it does with more is not confirmed."},

		CodeUnknownVersion: {Error, effectDefault}, CodeUnknownSecurity: {Error, effectDefault},
		CodeBadTimeout: {Error, effectDefault}, CodeBadID: {Error, effectDefault},
		CodeWindowsOnly:   {Warning, "Documents this for Windows only; what it does with it elsewhere is not confirmed."},
		CodeRootIDIgnored: {Warning, "Ignores the value 0 (Oracle documentation); the default is 65534."},
		CodePNFSSecurity: {Error, "Supports Parallel NFS with security sys only (Oracle documentation); how it fails with " +
			"another is not confirmed."},
		CodeKerberosServerName: {Error, "Requires the fully qualified host name as the label for Kerberos (Oracle " +
			"documentation); how it fails without is not confirmed."},

		CodeBadAddress: {Error, "Cannot connect to it; whether it uses the other paths or hangs at startup is not " +
			"confirmed."},
		CodeNoTrunking: {Warning, "Gets no multipath over NFSv4.1 from ONTAP, which has no client ID trunking (NetApp " +
			"documentation). For pNFS and for other servers: not confirmed."},
		CodeSameSubnet: {Warning, "Does not get several paths in one subnet to work properly on Linux, not even with " +
			"dontroute (Oracle and NetApp documentation)."},
		CodeHostName: {Warning, "Can crash or corrupt data when the address changes between two lookups, as with round " +
			"robin " +
			"DNS (NetApp documentation)."},
		CodeIPv6Address: {Warning, "Whether it accepts IPv6 addresses here is not confirmed."},
	}[c]
	if !ok {
		return rule{Error, effectSyntax}
	}
	return r
}
