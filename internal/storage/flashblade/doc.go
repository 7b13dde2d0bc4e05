// Package flashblade reads a Pure FlashBlade over REST 2.x with an API token of the role
// readonly.
//
// The array gives means of every second instead of counts (facts: REST 2.x performance
// endpoints, resolution 1000 ms). Each sample asks for all of them since the one before, so
// that none is missed, and integrates them; see package integrate for how exact that is. The
// array publishes a second only after it is over: counters are a second or two old, and
// their time is that of the array.
//
// There is no CPU anywhere in this API, and traffic is counted by connector and not by address:
// nodes and paths are unknown. Every VIP serves every file system, so no VIP is the wrong one.
package flashblade
