// Package storage is what the storage side of a benchmark says about itself: raw counters, read through one interface.
//
// A source hands over what the storage counts and derives nothing: rates, percentages and
// averages are made by who has two snapshots, see package stats. What a storage does not
// count is nil, never 0: a FlashBlade knows no CPU, and "0 % busy" would be a lie.
package storage
