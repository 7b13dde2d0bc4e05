// Package chart draws figures as SVG without a script: time series on shared
// axes, curves over a logarithmic axis, and intervals.
//
// What a figure says does not depend on colour: lines differ by their dashes and
// points by their shape, and both are named where they are drawn. It is pure:
// values go in, text goes out.
package chart
