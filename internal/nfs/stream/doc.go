// Package stream keeps many READs and WRITEs outstanding at little cost: the
// data plane of the client.
//
// # Lanes
//
// A Stream has one lane for each channel: a TCP connection and one thread that
// does everything for it. The thread asks the Driver what to do, encodes
// requests until there is nothing to ask for, sends them with one system call,
// and then blocks in the next receive, which may bring many replies. Nobody is
// woken but by the network: with one I/O outstanding an operation costs one
// send and one receive, with many of them less. Sockets therefore block, and a
// receive returns every tick to look after the rest.
//
//	Driver.Next -> slot -> fragments -> [send] ... [receive] -> fragment -> Driver.Done
//
// Small data are copied in and out of two buffers of the lane; large data are
// sent from and received into the buffer of the I/O.
//
// # Slots
//
// A slot is one I/O of the job at a time and belongs to one lane, whose thread
// alone may touch it. An I/O above the transfer size is several fragments. An
// xid is the number of its fragment and a generation, so that finding the
// fragment of a reply is one look, on whichever lane it arrives.
//
// Slots are handed over through the inbox of a lane: by a lane that lost its
// connection, by one that has more than its share when another has come back,
// and after each I/O when there are fewer slots than lanes, so that all paths
// are used.
//
// A Protocol may hold fragments back (ErrNoSlot), until a lane is told that one of its own
// may go.
//
// # Lost connections
//
// A connection is given up when it fails, when the other side's TCP is silent
// although something waits for its acknowledgement, or when an I/O went without
// reply for half of the timeout. Everything outstanding on it is sent again with
// the same xid, on the lanes that live, or here after reconnecting.
package stream
