// Package nfs is a user-space NFS client that spreads its I/O over several TCP
// connections, as Oracle's Direct NFS does.
//
// A Client has one channel for each pair of local address and path of an
// oranfstab. A channel is one TCP connection; all channels lead to the same
// export. Each call goes to the live channel with the fewest calls in flight. A
// call whose channel dies is made again, with the same xid, on a channel that
// lives; the dead one reconnects in the background.
//
// # Layers
//
//	File, Client          what callers use
//	protocol              one version of NFS: encodes calls, understands replies
//	transport             chooses a channel, reissues, times out
//	channel               one address pair: dials, reconnects, counts
//	rpc.Conn              one connection: xids, records, buffers
//
// protocol is the seam for further versions of NFS: the calls of version 3 are in
// proto_v3.go. Mounting and streams know that version too.
//
// A Stream is a second way to the same files for those who keep many I/Os
// outstanding: connections and threads of its own, see package stream. Names,
// attributes, filling and checking stay with File and Client.
//
// # Stability of writes
//
// Data written with Unstable are remembered as ranges, sorted by the write
// verifier that the server gave. Commit compares it with the verifier of its own
// reply; ranges with another verifier were lost by a restart of the server and
// are written again from the File's source.
package nfs
