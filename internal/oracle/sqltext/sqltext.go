// Package sqltext holds every SQL and PL/SQL text of ours, each in a file of its
// own.
//
// A file begins with the line
//
//	/* nfsbench NAME */
//
// so that a DBA sees in V$SQL who asked. Identifiers and numbers that cannot be
// bound stand as {{.Name}} and are filled in by Render, which takes nothing that
// could be more than one.
package sqltext
