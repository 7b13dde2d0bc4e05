// Package exporter reads plain NFS servers by the metrics that they offer themselves, in
// Prometheus' text format: node_exporter on a Linux server, or the monitoring of NFS-Ganesha.
//
// node_exporter gives processors (node_cpu_seconds_total) and what the kernel's NFS server
// counts (node_nfsd_*, out of /proc/net/rpc/nfsd), which knows no latency. NFS-Ganesha gives
// requests and bytes where it was built with monitoring and with dynamic metrics on, and no
// processors; it does tell latencies, but cut to whole milliseconds, so that fast operations
// would take no time at all: they are left out.
//
// What a server does not tell is nil, and with it the sum over all servers. A server that
// runs node_exporter's collector nfsd and has nothing to say by it serves no NFS, and counts
// as zero: the passive half of a pair.
package exporter
