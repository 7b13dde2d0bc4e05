// Package mount speaks the two small protocols that lead to an NFSv3 export:
// the portmapper, version 2 (RFC 1833), and MOUNT, version 3 (RFC 1813 appendix
// I). Codecs work in both directions; the client half runs over an rpc.Conn.
package mount
