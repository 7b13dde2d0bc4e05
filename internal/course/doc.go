// Package course walks a run through its spans: it notes when each began and
// ended, tells every second how it goes, and saves what was measured so far. It
// knows nothing of what is measured.
package course
