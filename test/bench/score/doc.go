// Package score turns the repeats of a benchmark into medians, spreads and
// ratios, and those into a table.
//
// Contenders of a row are measured in turns, repeat by repeat. A ratio is
// therefore taken within each repeat, where both sides had the same machine to
// the same degree, and only then the median over the repeats: what slows the
// machine for a minute slows both sides and cancels out.
//
// It is pure: values in, values out, no clock and no I/O.
package score
