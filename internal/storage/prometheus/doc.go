// Package prometheus reads a storage by what a Prometheus server has collected of it: the
// metrics of NetApp Harvest, chosen by labels, or any PromQL.
//
// Harvest exports means of its last poll of the array. Each sample asks for all of them of
// the last five minutes with the times at which Prometheus scraped them (an instant query
// would give them the time of the query instead), and integrates those that are new; see
// package integrate. What did not move is not counted twice, and the time of a snapshot is
// that of the newest scrape. Expressions of a user have no such times: they are evaluated
// together at one moment, and stand for the time since the sample before.
//
// What a short run loses: Harvest polls every 60 s, and is scraped some time after it. A run
// sees what happened in the polls that ended while it lasted, up to a minute and a scrape
// too late at each end, and a run that is shorter than a poll sees nothing: no counter moves,
// and no difference is made. Ask ONTAP itself for such runs.
//
// The CPU of nodes is node_avg_processor_busy, the mean of all cores, as ONTAP's REST gives
// it. Where Harvest has none, it is node_cpu_busy, which is another number: that of the
// busiest domain. They are never mixed in one source.
package prometheus
