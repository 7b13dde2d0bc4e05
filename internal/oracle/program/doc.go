// Package program is the command line of the Oracle loader, for whatever driver
// it is linked with: cmd/oraload brings godror, the tests bring a stand-in.
//
// It is what `nfsbench load` is without a database: it reads the plan, tells in
// the run directory how it goes, and ends with 0 when the load ended as planned,
// 1 when it failed, 2 when a flag or a file is wrong and nothing was done.
package program
