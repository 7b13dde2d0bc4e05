// Package oracle talks to an Oracle database: what it is, its parameters, what
// its views count, and CALIBRATE_IO. It knows database/sql and no driver: godror
// is linked into cmd/oraload only.
//
// Names, units and traps of the views are those of Oracle's reference; where a
// release differs from its own documentation, the reader derives what is true
// and says so (see Window).
package oracle
