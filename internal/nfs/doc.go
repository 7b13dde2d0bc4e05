// Package nfs is a user-space NFS client that spreads its I/O over several TCP
// connections, as Oracle's Direct NFS does.
//
// A Client has one channel for each pair of local address and path of an
// oranfstab. A channel is one TCP connection; all channels lead to the same
// export, of NFSv3, NFSv4.0, NFSv4.1, or NFSv4.1 with layouts (pNFS). Each call
// goes to the live channel with the fewest calls in flight. A call whose channel
// dies is made again, with the same xid, on a channel that lives; the dead one
// reconnects in the background.
//
// # Layers
//
//	File, Client          what callers use
//	protocol              one version of NFS: encodes calls, understands replies
//	transport             chooses a channel, reissues, times out
//	channel               one address pair: dials, reconnects, counts
//	rpc.Conn              one connection: xids, records
//
// protocol is one version of NFS: proto_v3.go and proto_v4.go. READ and WRITE are not part of
// it: data_v3.go and v4_data.go encode them for streams, and for the small files of File.
//
// # NFSv4
//
//	protoV4               the servers behind the channels, names
//	serverV4              one server: client ID, sessions, lease, opens, recovery, callbacks
//	openV4                one open file at one server
//	layoutsV4, dataServer pNFS: layouts of files, and the servers that they lead to
//
// Addresses that belong to one server share its sessions. State that a server lost is made
// again while I/O waits, see v4_recover.go.
//
// # Streams
//
// A Stream moves the data of files, with many I/Os outstanding over connections and threads
// of its own, see package stream. Names, attributes, commits and small files, which one READ
// or WRITE moves, stay with File and Client.
//
// # Stability of writes
//
// Data written with Unstable are remembered as ranges, sorted by server and write
// verifier. Commit asks each of these servers and compares the verifier of its
// reply; ranges with another one were lost by a restart of the server, and the
// caller has to write them again.
package nfs
