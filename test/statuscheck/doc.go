// Package statuscheck is a linter for the status of an NFSBenchmark. Tests call
// it after every pass, so that a rule broken for one pass only is found too.
package statuscheck
