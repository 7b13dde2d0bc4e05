// Package oraclesql holds every SQL and PL/SQL text of ours against a parser of
// Oracle's dialect, and against the columns that Oracle's views have in each
// release that the text is for. references.md names the page of Oracle's reference
// that lists each of these columns and arguments, and those that no page confirms.
package oraclesql
