//go:build !race

package memory

// Factor widens every limit under the race detector only.
const Factor = 1
