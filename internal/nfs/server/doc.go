// Package server is the embedded NFS version 3 server: MOUNT, portmap and NFSv3 over TCP on every listening address, backed by one directory.
//
// It exists beside the ready-made Go libraries for four reasons: it shares the codec with
// the client, so that both are proven by each other and by strangers; it counts per
// listening address, which is how a benchmark proves that all its paths were used; its
// write verifier can be changed at will, so that the resend after a server restart is
// testable; and the requests of one connection run concurrently, without which a deep
// queue on one channel would measure nothing but the server.
//
// # A request's way
//
// The reader of a connection takes one record at a time and hands it to a worker of that
// connection; there are at most MaxInFlight workers and the reader waits for a free one,
// so a client that sends faster than it is served is slowed down by TCP. Replies leave in
// the order in which they are ready. Big records and big replies use buffers from two
// budgets of the server. Waiting always goes request budget, worker, reply budget, socket,
// and the socket has a deadline, so nobody waits in a circle.
//
// The data of a READ are copied: from the page cache behind the reply's head, and with it
// to the socket. sendfile was measured on ext4 and loopback and cost more processor time
// (1.1 against 0.95 s/GB, client included), and it would hold the other replies of the
// connection while one waits for the disk.
//
// # Users
//
// The server is one unprivileged process, so every client is the user who runs it
// (all_squash): credentials must be AUTH_SYS or AUTH_NONE and are otherwise not looked at.
// Access is what that user has. Everybody who reaches the port may use the export.
package server
