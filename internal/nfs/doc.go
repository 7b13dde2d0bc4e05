// Package nfs is a user-space NFS client that spreads its I/O over several TCP
// connections, as Oracle's Direct NFS does.
//
// A Client has one channel for each pair of local address and path of an oranfstab. A channel is one TCP connection;
// all channels lead to the same export, of NFSv3, NFSv4.0, NFSv4.1, or NFSv4.1 with layouts (pNFS). Each call goes to
// the live channel with the fewest calls in flight. A call whose channel dies is retransmitted with the same xid on a
// live channel; the dead channel reconnects in the background.
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
// Addresses of one server share its sessions. The client recovers lost server state while I/O waits, see
// v4_recover.go.
//
// # Streams
//
// A Stream transfers file data, with many outstanding I/Os over connections and threads of its own, see package
// stream. File and Client handle names, attributes, commits and small files, for which one READ or WRITE is enough.
//
// # Stability of writes
//
// The client records data written with Unstable as ranges, sorted by server and write verifier. Commit sends COMMIT
// to each of these servers and compares the verifier in the reply. The server lost ranges with another verifier in a
// restart, and the caller has to write them again.
package nfs
