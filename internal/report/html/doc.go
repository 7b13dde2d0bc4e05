// Package html writes the report of a result, of a suite's run, or of a
// comparison, as one HTML file for people and for paper.
//
// The file stands by itself: no script, no link, nothing from the network, and a
// content security policy that says so. It is pure: values go in, text goes out.
package html
