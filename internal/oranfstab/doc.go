// Package oranfstab reads, checks and writes oranfstab, the file that tells
// Oracle Direct NFS (dNFS) which servers, paths and exports to use.
//
// # Where Oracle looks
//
// On Linux dNFS takes the first file that it finds: $ORACLE_HOME/dbs/oranfstab
// for that home only, then /etc/oranfstab for all homes, then /etc/mtab. The
// last gives NFSv3 over one path with no oranfstab at all; NFSv4, NFSv4.1,
// pNFS, several paths and Kerberos need the file. The kernel mount has to exist
// as well: dNFS never mounts for the operating system, and an export or mount
// that differs from the kernel's mount table makes Oracle use the kernel client
// without a word.
//
// # Grammar
//
// One attribute per line, "key: value". A server line opens a block, which ends
// at the next server line or at the end of the file:
//
//	server: NAME                 any unique label; fully qualified for Kerberos
//	local: ADDRESS               client address of the path line that follows it
//	path: ADDRESS                server address; 1 to 4 per server
//	dontroute                    a bare word: do not let the OS route (SO_DONTROUTE)
//	nfs_version: VERSION         nfsv3 (default), nfsv4, nfsv4.1 or pnfs
//	security_default: MODE       sys (default), krb5, krb5i or krb5p
//	mnt_timeout: SECONDS         wait for a mount, 600 by default
//	management: ADDRESS          SNMP address, the server by default
//	community: NAME              SNMP community, public by default
//	uid: N, gid: N               Windows only, 65534 by default
//	export: PATH mount: PATH [security: MODE]
//
// An export with its mount point and its security mode is one line. A line that
// starts with # is a comment. Keys and the values of nfs_version and security
// are read here in any case; Oracle's own examples use both NFSv3 and nfsv3.
//
// The order that [Render] writes is the one above. Nothing says that the order
// of all lines matters, but one report says that it does for nfs_version, and
// this order is the one that agrees with the files that are known to work.
//
// # Sources
//
// The grammar and the search order are those of the Oracle Database and Grid
// Infrastructure installation guides 12.2, 19c and 21c ("Creating an oranfstab
// File for Direct NFS Client", "Specifying Network Paths"). That syntax errors
// hang the start or are silently ignored, that host names must not be served
// round robin, and that ONTAP does not trunk NFSv4.1, is in NetApp's guide for
// Oracle on ONTAP. What neither of them says is marked "not confirmed" in
// [Problem.Effect].
//
// The package is pure: it does no I/O and looks up no names.
package oranfstab
