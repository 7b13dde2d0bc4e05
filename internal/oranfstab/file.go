// Package oranfstab reads, checks and writes oranfstab, the file that tells
// Oracle Direct NFS (dNFS) which servers, paths and exports to use.
//
// # Where Oracle looks
//
// On Linux dNFS takes the first file that it finds: $ORACLE_HOME/dbs/oranfstab for that home only, then
// /etc/oranfstab for all homes, then /etc/mtab. The last gives NFSv3 over one path with no oranfstab at all; NFSv4,
// NFSv4.1, pNFS, several paths and Kerberos need the file. The kernel mount has to exist as well: dNFS never mounts
// for the operating system, and an export or mount that differs from the kernel's mount table makes Oracle use the
// kernel client without a message.
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
// On Windows a mount is C:\DIRECTORY, nfs://SERVER/EXPORT, SERVER:/EXPORT or
// //SERVER/EXPORT.
//
// An export with its mount point and its security mode is one line. A line that starts with # is a comment. This
// package reads keys, and the values of nfs_version and security, in any case; Oracle's own examples use both NFSv3
// and nfsv3.
//
// [Render] writes the lines in the order above. Oracle does not document that the order matters, but one report says
// that the place of nfs_version does. This order agrees with the files that are known to work.
//
// # Sources
//
// The grammar and the search order come from the Oracle Database and Grid Infrastructure installation guides 12.2,
// 19c and 21c ("Creating an oranfstab File for Direct NFS Client", "Specifying Network Paths"). NetApp's guide for
// Oracle on ONTAP documents that syntax errors hang the start or are silently ignored, that host names must not use
// round robin, and that ONTAP does not trunk NFSv4.1.
//
// The package is pure: it does no I/O and resolves no names.
package oranfstab

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
)

// Limits and defaults of Oracle's documentation.
const (
	// MaxPaths bounds the paths, and the locals, of one server.
	MaxPaths = 4
	// DefaultMountTimeoutSeconds is Oracle's mnt_timeout if a file has none.
	DefaultMountTimeoutSeconds = 600

	maxNameBytes = 255  // V$DNFS_SERVERS.SVRNAME
	maxPathBytes = 1024 // V$DNFS_SERVERS.DIRNAME
)

// Version is an NFS protocol version as nfs_version spells it.
type Version string

// The versions that Oracle knows. The zero Version means that the file has no
// nfs_version line; see [Server.EffectiveVersion].
const (
	NFSv3  Version = "nfsv3"
	NFSv4  Version = "nfsv4" // NFSv4.0
	NFSv41 Version = "nfsv4.1"
	PNFS   Version = "pnfs"
)

// Security is an RPC security mode as security_default and security spell it.
type Security string

// The security modes that Oracle knows, from 12.2 on. The zero Security means
// that the file does not set one.
const (
	SecuritySys   Security = Security(bench.SecuritySys)
	SecurityKrb5  Security = "krb5"
	SecurityKrb5i Security = "krb5i"
	SecurityKrb5p Security = "krb5p"
)

// File is the content of one oranfstab, without comments.
type File struct {
	Servers []Server
}

// Server is one server block.
type Server struct {
	// Name is the label that V$DNFS_SERVERS shows as SVRNAME. It need not
	// resolve, but with Kerberos it must be the server's full host name.
	Name string
	// Paths are the channels: at least one and at most [MaxPaths].
	Paths []PathPair
	// DontRoute sets SO_DONTROUTE on the connections.
	DontRoute bool
	Version   Version
	// SecurityDefault applies to exports without a Security of their own.
	SecurityDefault Security
	// MountTimeoutSeconds is positive, or nil for Oracle's default.
	MountTimeoutSeconds *int32
	// Management and Community are for SNMP. Oracle queries it only to find out
	// whether the storage supports Hybrid Columnar Compression.
	Management, Community string
	// UID and GID matter on Windows only.
	UID, GID *uint32
	// Exports are the exports of this server, at least one.
	Exports []Export
}

// PathPair is one channel: a server address, and the client address that
// connects to it. Both are IP addresses, or host names without round robin.
type PathPair struct {
	Local string // empty: the operating system chooses
	Path  string
}

// Export maps an exported directory to its mount point on this host. Both must
// be spelled as in the kernel's mount table.
type Export struct {
	Path     string
	Mount    string
	Security Security // empty: the server's SecurityDefault
}

// EffectiveVersion returns the version that Oracle uses for the server: NFSv3
// if the file has none.
func (s Server) EffectiveVersion() Version { return cmp.Or(s.Version, NFSv3) }

// EffectiveSecurity returns the security mode that Oracle uses for an export of
// the server.
func (s Server) EffectiveSecurity(e Export) Security {
	return cmp.Or(e.Security, s.SecurityDefault, SecuritySys)
}

// Select returns the server and the export with these names. An empty name selects the only one. The error lists the
// choices.
func (f File) Select(server, export string) (Server, Export, error) {
	s, err := choose("server", server, f.Servers, func(s Server) string { return s.Name })
	if err != nil {
		return Server{}, Export{}, err
	}
	e, err := choose("export", export, s.Exports, func(e Export) string { return e.Path })
	return s, e, err
}

func choose[T any](what, name string, items []T, nameOf func(T) string) (T, error) {
	var names []string
	for _, item := range items {
		if nameOf(item) == name || name == "" && len(items) == 1 {
			return item, nil
		}
		names = append(names, nameOf(item))
	}
	var none T
	if name == "" {
		return none, fmt.Errorf("the oranfstab has several %ss: choose one of %s", what, strings.Join(names, ", "))
	}
	return none, fmt.Errorf("the oranfstab has no %s %q: choose one of %s", what, name, strings.Join(names, ", "))
}
