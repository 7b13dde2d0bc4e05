// Package rpc speaks ONC RPC version 2 (RFC 5531) over TCP.
//
// The codec half (CallHeader, ReplyHeader, AuthSys, RecordReader) works in both
// directions and serves clients and servers. The other half is Conn, a client
// connection with many calls in flight.
//
// # Conn
//
// A call takes a slot of the connection's table; the table is indexed by the low
// bits of the xid, so that finding the call of a reply is one look. Requests are
// appended to one output buffer and leave it together: small requests cost one
// system call for as many of them as are waiting. Bulk data of a request are
// passed to writev by reference; bulk data of a reply are received straight into
// the buffer that the call names. In the steady state nothing is allocated.
//
// Ownership is the invariant to keep in mind when changing this package: from
// Start until the call is done the connection may read Call.Data and write
// Call.Dst. A failed connection therefore completes its calls only after its
// reader and its writer have both stopped.
package rpc
