// Package array runs an NFS array of two nodes for tests: one that has no
// hardware, and yet a data path whose wrong way costs what it costs.
//
//	client ── LIF 1 ── N-blade a ─── Ganesha a     node a, a network namespace
//	                       │ cluster link
//	client ── LIF 2 ── N-blade b ─── Ganesha b     node b, another one
//
// It is built as ONTAP is. The N-blade (package nblade) ends the connections of
// the clients of its LIFs and sends each call to the node that owns the volume.
// There NFS-Ganesha answers it. A client that asks the LIF of the owner pays for
// one node; one that asks the other pays for an N-blade there, for the way over
// the cluster link, and for the N-blade of the owner, which takes it off the link. Nothing of this is scripted: what Node, LIF and Volume
// tell was counted where it happened.
//
// Both nodes run NFS-Ganesha over the same folder with the same exports, so that
// a file handle means the same on both, and none keeps attributes or names for
// itself. A volume moves by changing who answers: see Array.Move.
//
// # What differs from an array
//
//   - The two have no disks of their own: the folder lies in the page cache of
//     this machine. A move copies nothing.
//   - The nodes have no processors of their own. They use those of this machine
//     together with clients and everybody else; Options.Cores binds each to some.
//     Where the machine is busy, latencies are those of waiting for a processor.
//   - Processor time is that of the node's processes as the kernel accounts it,
//     in steps of 10 ms. What the kernel does for them outside of any process,
//     above all receiving packets in soft interrupts, is not in it or is on the
//     account of whoever ran just then.
//   - The state of NFSv4 does not move with a volume (see package nblade).
//   - NFS-Ganesha sees the N-blades as its clients: rules of exports for
//     addresses of clients can not be tested with it.
//
// It needs root, NFS-Ganesha, rpcbind and iproute2, all of which
// hack/lab/ganesha.sh installs.
package array
