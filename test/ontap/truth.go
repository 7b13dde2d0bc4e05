package ontap

import "context"

// Truth is what really happens behind the interface. Its methods may be called
// at once; the counters only grow, and those of what it does not know are zero.
type Truth interface {
	// Node counts the processor time of a controller.
	Node(name string) NodeCounters
	// LIF counts the bytes of a data address.
	LIF(address string) LIFCounters
	// Volume counts what clients did to a volume.
	Volume(name string) VolumeCounters
	// Clients are the connections that clients have; it may be empty.
	Clients() []Client
	// Move makes node the owner of a volume's data, online, and returns when it
	// is, or when the context ends.
	Move(ctx context.Context, volume, node string) error
}

// NodeCounters are processor times of a controller, in microseconds: how much of
// the base was busy, summed over its processors.
type NodeCounters struct {
	BusyMicros, BaseMicros uint64
}

// LIFCounters are the bytes of a data address as it sees them itself: it sends
// what clients read.
type LIFCounters struct {
	SentBytes, ReceivedBytes uint64
}

// VolumeCounters count operations, bytes of data, and latencies added up.
type VolumeCounters struct {
	Read, Write, Other OpCounters
}

// OpCounters count one kind of operation.
type OpCounters struct {
	Ops, Bytes, LatencyMicros uint64
}

// Client is one address of a client on one address of the array.
type Client struct {
	ClientIP, ServerIP string
	Volume             string
	Protocol           string // nfs3, nfs4, nfs4.1, nfs4.2
	// LocalRequests entered on the node that owns the volume, RemoteRequests on
	// another one; both since the connection was made.
	LocalRequests, RemoteRequests uint64
}
