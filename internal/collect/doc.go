// Package collect watches a load from beside it: it samples the counters of
// the client and of the storage, cuts them to the windows that the loader
// names, and publishes progress and result.
//
// Start gives a Session, which only samples; a program that makes the load
// itself embeds it. Run is the whole life of the sidecar of a loader in
// another container. The two share a run directory, see package runfile:
//
//	loader                      collector (Run)
//	                            collector-ready: the loader may start
//	events.jsonl  ───────────▶  spans, progress
//	load.json     ───────────▶  partial and final results
//	              ◀───────────  release: all clients may start
//	                            collector-final: the last result is published
//
// The collector never fails a load: what can not be sampled is a Problem in
// the result, and what can not be published is tried again. When it is asked
// to stop and the loader has left no last word, the loader has crashed, and
// the collector says so in the result with all that was done until then.
package collect
