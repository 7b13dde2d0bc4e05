//go:build race

package memory

// Factor widens every limit under the race detector, where pools of memory drop a part of what
// they hold at random.
const Factor = 4
