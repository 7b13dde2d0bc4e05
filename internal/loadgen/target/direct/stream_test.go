package direct

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

func TestASecondConnectionIsForAStreamThatHasEnoughForBoth(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                         string
		slots, streams, channels, want int
	}{
		"alone and deep": {"the server sends on one while it reads the other", 16, 1, 1, 2},
		"alone, shallow": {"there would be one I/O for two connections", 1, 1, 1, 1},
		"among others":   {"the others keep the server busy", 16, 4, 1, 1},
		"many channels":  {"they are several connections already", 16, 1, 4, 1},
		"deep over many": {"each channel has enough for two", 64, 1, 4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := connections(target.StreamOptions{Slots: tc.slots, Streams: tc.streams}, tc.channels); got != tc.want {
				t.Errorf("%d connections, want %d: %s", got, tc.want, tc.reason)
			}
		})
	}
}
