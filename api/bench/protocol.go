package bench

import "k8s.io/apimachinery/pkg/api/resource"

// Protocol is how the data is reached.
//
// +kubebuilder:validation:XValidation:rule="self.version != 'NFSv4.2' || self.client == 'Kernel'",message="Direct NFS does not speak NFSv4.2: set protocol.version to NFSv4.1, or protocol.client to Kernel"
// +kubebuilder:validation:XValidation:rule="!has(self.transport) || self.transport == 'TCP' || self.client == 'Kernel'",message="Direct NFS uses TCP: leave out protocol.transport, or set protocol.client to Kernel"
// +kubebuilder:validation:XValidation:rule="self.version != 'pNFS' || !has(self.security) || self.security == 'sys'",message="pNFS works with security sys only: set protocol.security to sys, or protocol.version to NFSv4.1"
// +kubebuilder:validation:XValidation:rule="!has(self.nconnect) || self.client == 'Kernel'",message="protocol.nconnect is an option of the kernel client: leave it out, or set protocol.client to Kernel; Direct NFS takes its connections from protocol.paths"
// +kubebuilder:validation:XValidation:rule="!has(self.nconnect) || self.nconnect == 1 || self.version != 'NFSv4.0'",message="protocol.nconnect is not good for NFSv4.0: use NFSv3 or NFSv4.1, or leave nconnect out"
// +kubebuilder:validation:XValidation:rule="!has(self.sessions) || self.sessions == 1 || (self.client == 'DirectNFS' && self.version in ['NFSv4.1', 'pNFS'])",message="protocol.sessions is for Direct NFS over NFSv4.1 or pNFS, which have sessions: leave it out, or set protocol.client to DirectNFS and protocol.version to NFSv4.1"
// +kubebuilder:validation:XValidation:rule="!has(self.doNotRoute) || self.doNotRoute == 'Disabled' || self.client == 'DirectNFS'",message="protocol.doNotRoute is an oranfstab attribute: leave it out, or set protocol.client to DirectNFS"
// +kubebuilder:validation:XValidation:rule="self.client != 'Kernel' || !has(self.paths) || self.paths.select != 'Explicit' || (size(self.paths.explicit) == 1 && !has(self.paths.explicit[0].local) && !has(self.paths.explicit[0].localInterface))",message="the kernel client mounts one address and chooses its own local address: give one protocol.paths.explicit entry without local and localInterface, or use client: DirectNFS"
// +kubebuilder:validation:XValidation:rule="self.client != 'Kernel' || !has(self.userID) || self.userID > 0",message="pods with a kernel mount may not run as root: set protocol.userID to the owner of the files, or use client: DirectNFS"
// +kubebuilder:validation:XValidation:rule="!has(self.oranfstab) || self.oranfstab == 'Enabled' || (self.client == 'DirectNFS' && self.version == 'NFSv3')",message="without an oranfstab Oracle's Direct NFS speaks NFSv3: set protocol.client to DirectNFS and protocol.version to NFSv3, or leave out protocol.oranfstab"
// +kubebuilder:validation:XValidation:rule="!has(self.oranfstab) || self.oranfstab == 'Enabled' || ((!has(self.doNotRoute) || self.doNotRoute == 'Disabled') && (!has(self.paths) || self.paths.select != 'Explicit' || (size(self.paths.explicit) == 1 && !has(self.paths.explicit[0].local))))",message="without an oranfstab Oracle's Direct NFS uses the one address of the mount: leave out protocol.doNotRoute, and give one protocol.paths.explicit entry without local"
type Protocol struct {
	// version of NFS. Only the kernel client speaks NFSv4.2.
	// +optional
	// +default="NFSv3"
	Version NFSVersion `json:"version,omitempty"`
	// client that speaks it: Kernel is the operating system's mount with
	// O_DIRECT; DirectNFS is a user-space client that opens one channel for
	// each path, as Oracle's own does with an oranfstab.
	// +optional
	// +default="DirectNFS"
	Client NFSClient `json:"client,omitempty"`
	// transport is TCP or RDMA. RDMA is an option of the kernel client, and needs nodes and a
	// server with RDMA. The mount's counters prove which one carried the load. Without this field, TCP.
	// +optional
	Transport Transport `json:"transport,omitempty"`
	// paths are the addresses to use. Without it, all.
	// +optional
	Paths *Paths `json:"paths,omitempty"`
	// doNotRoute sets the oranfstab attribute dontroute: a path is used only
	// through a directly connected network.
	// +optional
	DoNotRoute Toggle `json:"doNotRoute,omitempty"`
	// oranfstab Disabled gives Oracle's Direct NFS no oranfstab: it then finds the
	// mount by itself and uses the server of the mount over one path, with NFSv3.
	// It needs a database; an external one must have no oranfstab either. Without
	// this field, Enabled.
	// +optional
	Oranfstab Toggle `json:"oranfstab,omitempty"`
	// transferSize is the largest READ and WRITE asked for (rsize, wsize), a
	// multiple of 1Ki from 4Ki to 1Mi, such as 64Ki. Without it, the largest
	// that the server offers; for the mount of a database container, 256Ki.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('4Ki')) && !quantity(string(self)).isGreaterThan(quantity('1Mi')) && quantity(string(self)).isInteger() && quantity(string(self)).asInteger() % 1024 == 0",message="protocol.transferSize must be a multiple of 1Ki between 4Ki and 1Mi"
	TransferSize *resource.Quantity `json:"transferSize,omitempty"`
	// nconnect is the number of TCP connections of a kernel mount.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	NConnect *int32 `json:"nconnect,omitempty"`
	// sessions is how many sessions a job of the native engine may open if one session has fewer slots than
	// the job has outstanding I/Os. A kernel mount always has one session. Without this field, 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Sessions int32 `json:"sessions,omitempty"`
	// security flavor.
	// +optional
	// +default="sys"
	Security Security `json:"security,omitempty"`
	// mountTimeoutSeconds is how long reaching and mounting the export may
	// take (mnt_timeout in the oranfstab).
	// +optional
	// +default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	MountTimeoutSeconds int32 `json:"mountTimeoutSeconds,omitempty"`
	// callTimeoutSeconds is how long one I/O may take, new connections, failover and grace periods included, before
	// it and the run fail. A hard mount and Oracle's Direct NFS wait forever. The user-space client gives up a
	// connection on which nothing is answered for half of it, or for 60 s while other paths are answered.
	// +optional
	// +default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	CallTimeoutSeconds int32 `json:"callTimeoutSeconds,omitempty"`
	// userID is the user that owns the files on the server: the AUTH_SYS
	// credential of Direct NFS, or the user that the pods of a kernel mount
	// run as, unless the platform assigns their users. 54321 is the user oracle
	// of Oracle's own packages, which a database runs as in any case.
	// +optional
	// +default=54321
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	UserID *int64 `json:"userID,omitempty"`
	// groupID is the group of that user; 54321 is oinstall.
	// +optional
	// +default=54321
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	GroupID *int64 `json:"groupID,omitempty"`
	// link is the network link of each path, for the wire limit. Without it
	// the speed of the client's interfaces is used where it can be known.
	// +optional
	Link *Link `json:"link,omitempty"`
}

// NFSVersion is a version of NFS, named as in an oranfstab.
//
// +kubebuilder:validation:Enum=NFSv3;NFSv4.0;NFSv4.1;NFSv4.2;pNFS
type NFSVersion string

// The versions of NFS.
const (
	NFSv3  NFSVersion = "NFSv3"
	NFSv40 NFSVersion = "NFSv4.0"
	NFSv41 NFSVersion = "NFSv4.1"
	NFSv42 NFSVersion = "NFSv4.2"
	PNFS   NFSVersion = "pNFS" // NFSv4.1 with layouts
)

// NFSVersions lists the versions of NFS. Only the kernel's client speaks NFSv4.2.
func NFSVersions() []NFSVersion { return []NFSVersion{NFSv3, NFSv40, NFSv41, NFSv42, PNFS} }

// Trunking says how the paths of a client are joined to one NFSv4.1 server, RFC 8881 2.10.5.
type Trunking string

// The kinds of trunking.
const (
	TrunkingSession  Trunking = "Session"  // all connections belong to one session
	TrunkingClientID Trunking = "ClientID" // one client ID, a session for each path
	TrunkingSeparate Trunking = "Separate" // the paths lead to servers that share no state
)

// Transport carries NFS.
//
// +kubebuilder:validation:Enum=TCP;RDMA
type Transport string

// The transports.
const (
	TransportTCP  Transport = "TCP"
	TransportRDMA Transport = "RDMA"
)

// NFSClient is who speaks NFS.
//
// +kubebuilder:validation:Enum=Kernel;DirectNFS
type NFSClient string

// The clients.
const (
	ClientKernel    NFSClient = "Kernel"    // O_DIRECT on a volume that the operating system mounted
	ClientDirectNFS NFSClient = "DirectNFS" // the user-space client, one connection for each path
)

// Security is an RPC security flavor.
//
// +kubebuilder:validation:Enum=sys;krb5;krb5i;krb5p
type Security string

// SecuritySys is AUTH_SYS, the one flavor that the native engine speaks.
const SecuritySys Security = "sys"

// Toggle switches something on or off.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type Toggle string

// The states of a Toggle.
const (
	Enabled  Toggle = "Enabled"
	Disabled Toggle = "Disabled"
)

// Paths chooses the addresses that the load goes through.
//
// +kubebuilder:validation:XValidation:rule="(self.select == 'Explicit') == has(self.explicit)",message="protocol.paths.explicit goes with select: Explicit: give both or neither"
type Paths struct {
	// select All uses every address of the export; where the array is asked, one
	// LIF of each subnet, at most four, and a single one for the kernel client
	// and for NFSv4.x. Explicit uses those listed.
	// Local uses one address on the node that owns the volume, Remote one on
	// another node: the right and the wrong LIF. Both need storage.array.ontap.
	// +optional
	// +default="All"
	Select PathSelection `json:"select,omitempty"`
	// explicit lists the paths, in the order of the oranfstab.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="size(self) <= 4",message="an oranfstab takes at most four paths per server: list at most four protocol.paths.explicit"
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.exists_one(q, q.path == p.path && (has(q.local) ? q.local : '') == (has(p.local) ? p.local : '')))",message="a path is listed twice in protocol.paths.explicit: remove one"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !isIP(p.path) || self.all(q, q.path == p.path || !isIP(q.path) || !cidr(p.path + (ip(p.path).family() == 4 ? '/24' : '/64')).containsIP(q.path)))",message="two protocol.paths.explicit addresses are in one subnet (/24, or /64 with IPv6): Linux sends all traffic of a subnet through one interface, so use addresses in different subnets"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.localInterface) || self.exists_one(q, q.path == p.path))",message="a path with localInterface in protocol.paths.explicit is listed twice: give each path one interface"
	Explicit []Path `json:"explicit,omitempty"`
}

// PathSelection says which addresses are used.
//
// +kubebuilder:validation:Enum=All;Explicit;Local;Remote
type PathSelection string

// The selections.
const (
	PathsAll      PathSelection = "All"
	PathsExplicit PathSelection = "Explicit"
	PathsLocal    PathSelection = "Local"
	PathsRemote   PathSelection = "Remote"
)

// Path is one channel: where from and where to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.local) || !has(self.localInterface)",message="protocol.paths.explicit[] has local and localInterface: give one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.local) || !isIP(self.local) || !isIP(self.path) || ip(self.local).family() == ip(self.path).family()",message="protocol.paths.explicit[].local and path must be of the same IP version"
type Path struct {
	// local is the client address to use. It must exist in the pod (a
	// secondary network, for example). Without it, routing decides.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="protocol.paths.explicit[].local must be an IP address of the client"
	Local string `json:"local,omitempty"`
	// localInterface is the network interface of the pod to connect from, for example net1
	// of Multus. Each client uses its own address on it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$')`,message="write the name of a network interface, such as net1"
	LocalInterface string `json:"localInterface,omitempty"`
	// path is the server address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$')`,message="write the address of a server, such as 10.0.0.10. The path of the export goes into storage.export.path"
	Path string `json:"path"`
}

// ResolvedPath is a path in use and where it ends.
type ResolvedPath struct {
	// local is the client address to use, where one was declared.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Local string `json:"local,omitempty"`
	// localInterface is the network interface of the client, where one was declared.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	LocalInterface string `json:"localInterface,omitempty"`
	// path is the server address.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Path string `json:"path"`
	// lif is the name of that address on the storage.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LIF string `json:"lif,omitempty"`
	// node of the storage that the address was on when the run began.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// locality says whether that node owned the volume: Local or Remote. It is
	// absent where that is not known.
	// +optional
	Locality Locality `json:"locality,omitempty"`
}

// Link is the network link of one path.
type Link struct {
	// bitsPerSecond is the speed of the link, for example 10G.
	// +required
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('1M')) && !quantity(string(self)).isGreaterThan(quantity('1T'))",message="protocol.link.bitsPerSecond must be between 1M and 1T, for example 10G for 10GbE"
	BitsPerSecond resource.Quantity `json:"bitsPerSecond"`
	// mtu is the largest IP packet of the link in bytes.
	// +optional
	// +default=1500
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	MTU int32 `json:"mtu,omitempty"`
}
