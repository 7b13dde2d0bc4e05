// Package rest is JSON over HTTP for storage arrays: credentials, verified certificates, retries and a rate limit.
//
// A Client belongs to one host. It follows no redirect, uses no proxy and bounds what it
// reads, so that what comes back is what that host said. A request that changes nothing is
// repeated with growing, jittered pauses when the host was not there or was busy; the
// context bounds it all. No error of this package holds a credential, a header or a query.
package rest
