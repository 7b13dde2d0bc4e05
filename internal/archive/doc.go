// Package archive reads back what runs have left in a cluster: the result of a
// benchmark, the records of a suite's runs, and the numbers in them that can be
// compared. It only reads.
package archive
