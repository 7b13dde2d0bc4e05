// Package oracle is a stand-in for an Oracle database: for tests of what talks
// to one, where there is no Oracle and no licence for it. It calls itself a
// stand-in in its banner, and no result of it can pass for a measurement of
// Oracle.
//
// It has done the I/O that it reports. Datafiles are real files full of data that
// can be checked; SLOB's tables lie in them; a statement that reads blocks reads
// them from the volume, through the directory with O_DIRECT or, where Direct NFS
// is set up as Oracle demands, over the channels of the oranfstab with our own
// user-space client. The views count that, under Oracle's names, with Oracle's
// units and traps: counters of channels that start again when they are read,
// processes whose counters vanish with them, service times in a unit that the
// documentation gets wrong.
//
// SQL is not understood: each statement of ours names itself in its first
// comment, and the stand-in does what that statement means. The columns of an
// answer are those of the text's select list, so that a column that we do not
// know is ORA-00904.
//
// Less than Oracle: no buffer cache, so a read of a block is always I/O; no
// index; redo and DBWR are written by the session that makes them; NFSv4 is not
// spoken, such an oranfstab falls back to the mounted directory as Oracle does
// where Direct NFS cannot be had.
package oracle
