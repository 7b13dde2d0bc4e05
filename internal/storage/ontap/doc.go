// Package ontap reads NetApp ONTAP over REST: who owns a volume, its LIFs and its NFS
// service before a run, raw counters during it, and it moves volumes between aggregates.
//
// # Counters
//
// A sample is the volume's own counters (operations, bytes, latencies added up), the bytes
// of every LIF of the SVM that serves NFS, and the processor counters of every node. All
// are raw and only grow; ONTAP brings them up to date on a grid of 15 s, so that most
// samples taken each second repeat the one before. The time of a snapshot is that of the
// volume's counters, on ONTAP's clock; those of nodes and LIFs are of the same 15 s, but
// not necessarily of the same second. Counters whose status is neither ok nor backfilled,
// and negative ones, are not known.
//
// The bytes of a LIF are seen from ONTAP: read is what it sent to clients. They hold the
// headers of the protocol, and what clients of other volumes moved.
//
// # Accounts
//
// An account of the cluster may be allowed everything. One of an SVM cannot see the nodes
// and the aggregates: then there is no processor load, and the node of the volume is known
// only if the volume itself tells it. What is refused once with 403 is not asked for again
// by samples of the same source with the same credentials.
package ontap
