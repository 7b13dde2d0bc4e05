// Package browser opens reports in a real browser, as their readers do.
package browser
