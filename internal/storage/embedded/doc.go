// Package embedded reads the counters of the embedded NFS server (nfsbench serve) over HTTP.
package embedded
