// Package awr reads the wait events of AWR and Statspack reports in text form:
// awr.txt and statspack.txt of a SLOB kit, or single lines that grep found.
//
// Releases differ in columns and units, so columns are found by their titles
// above the line of hyphens. Reports print total times in whole seconds up to
// 12.1, so averages of few waits are coarse.
package awr
