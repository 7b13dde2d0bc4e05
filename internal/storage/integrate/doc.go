// Package integrate makes counters out of rates, for storages that tell nothing else.
//
// A reading at time t is taken for the mean of the time since the reading before it, which
// is what a FlashBlade and Harvest give: the integral grows by rate times that time. Nothing
// is assumed of the time before the first reading, where all integrals are 0, and readings
// that overlap with what is integrated already add nothing, so the same answer may be given
// any number of times, by several goroutines, in any order of arrival.
//
// How wrong it is. Where readings are means over exactly the time since the one before, the
// difference of two counters is exact for the time between their Snapshot.Times, which are
// times of readings. Asked for another time, such as that of a load, it is off by what
// happened between its ends and the readings next to them: at each end less than one
// interval of readings times the difference of the rates. Where the storage left out a
// reading, or gives momentary values, the next reading stands for the whole time since the
// last one. That is done for at most the time that New is told; what is longer is not made
// up: a single value is unknown from then on, and if nothing at all was reported for so long,
// another epoch begins, across which no difference is to be taken.
//
// Unknown stays unknown: what no reading tells has no counter. Latencies become time: the
// operations of an interval times their mean latency; no operations take no time, whatever
// their latency is said to be.
package integrate
