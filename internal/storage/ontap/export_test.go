package ontap

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// Quicken makes s look at moves as often as a test wants.
func Quicken(s *Source) { s.poll = 5 * time.Millisecond }

// Decode makes a snapshot out of the three answers of a sample.
func Decode(volumeJSON, nodesJSON, lifsJSON []byte) (storage.Snapshot, error) {
	var r readings
	var nodes page[node]
	var lifs page[lif]
	if err := errors.Join(json.Unmarshal(volumeJSON, &r.volume), json.Unmarshal(nodesJSON, &nodes), json.Unmarshal(lifsJSON, &lifs)); err != nil {
		return storage.Snapshot{}, err
	}
	r.nodes, r.lifs = nodes.Records, lifs.Records
	return snapshot(r)
}
