// Package stream keeps many READs and WRITEs outstanding at little cost: the data plane of the client.
//
// # Threads
//
// A Stream has one or more threads for each channel. Each has a TCP connection and does everything for it.
// The thread asks the Driver for I/Os, encodes requests until there are no more, sends them with one system call,
// and then blocks in the next receive, which may return many replies. Usually only the network wakes a thread: with
// one outstanding I/O an operation costs one send and one receive, with many it costs less. Sockets therefore block,
// and a receive returns every tick for other work.
//
//	Driver.Next -> slot -> fragments -> [send] ... [receive] -> fragment -> Driver.Done
//
// Small data are copied in and out of two buffers of the thread; large data are sent from and received into the buffer
// of the I/O.
//
// # Slots
//
// A slot is one I/O of the job at a time and belongs to one thread, which alone may touch it. An I/O above the
// transfer size consists of several fragments. An xid contains the number of its fragment and a generation, so that
// one look-up finds the fragment of a reply, on whichever thread it arrives.
//
// Threads hand over slots through the inbox of a thread: when a thread has lost its connection, when it has more than
// its share after another has come back, and after each I/O if there are fewer slots than threads, so that all paths
// are used.
//
// A Protocol may hold fragments back (ErrNoSlot), until it tells the thread that a fragment may be sent.
//
// # Lost connections
//
// A thread gives up a connection when it fails, when the peer's TCP is silent although data waits for its
// acknowledgement, or when an I/O had no reply for half of the timeout. It retransmits all outstanding requests with
// the same xid on live threads, or on its own connection after reconnecting.
package stream
