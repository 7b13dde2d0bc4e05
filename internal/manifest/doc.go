// Package manifest builds the objects of a run: the embedded server, volumes,
// configuration, the load Job and the clean-up Job.
//
// Its functions are pure: they take values and return objects, never read the
// cluster, a clock or a global. Names are deterministic, so that applying an
// object twice is applying it once, and a manager that starts anew finds what
// its predecessor made. Everything meets the restricted Pod Security Standard but
// two containers beside a database: the database itself where its image needs to
// escalate privileges, and the one that gives it its volume. Both meet baseline.
//
// What a pod with a database looks like:
//
//	init  tools        ours    copies nfsbench and oraload into an emptyDir
//	init  permissions  ours    root: gives the volume to the user oracle
//	side  collector    ours    as in every run
//	side  database     user's  nfsbench database, which starts the image's own command
//	main  loader       user's  oraload, with the client library of that image
//
// With a database that exists: tools, collector, and the loader in an image with
// Oracle's client.
package manifest
