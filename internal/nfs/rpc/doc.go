// Package rpc implements ONC RPC version 2 (RFC 5531) over TCP.
//
// The codec half (CallHeader, ReplyHeader, AuthSys, RecordReader) works in both directions and serves clients and
// servers. The other half is Conn, a client connection with many calls in flight.
//
// # Conn
//
// A Conn is for calls with little data; package stream handles calls with much data. Callers append requests to one
// output buffer, which a goroutine writes, so that a caller can always give up. Another goroutine receives the
// replies and completes their calls. When the connection fails, it completes all other calls.
package rpc
