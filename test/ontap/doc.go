// Package ontap is a stand-in for the REST interface of a NetApp ONTAP cluster.
//
// It plays the part of ONTAP in tests and says so in its name and version, so
// that nobody takes a figure for that of a NetApp. What it tells of counters
// comes from a Truth: real processes that really serve NFS, or a script. Names,
// units, defaults and traps are those of ONTAP 9.12 and later as its own
// documentation, Trident and Harvest have them: expensive fields only when they
// are named, pages, statistics that stand still for 15 seconds, an account that
// may not see the cluster, and error bodies whose code is text or a number.
package ontap
