// Package counters counts what the embedded NFS server does and shows it over HTTP: the versioned JSON document, Prometheus text, health.
//
// Counting is one atomic addition per event, so it never shows in what is measured.
// All numbers but ConnectionsActive only grow until the process ends; a reader that sees
// another StartTime must begin anew.
package counters
