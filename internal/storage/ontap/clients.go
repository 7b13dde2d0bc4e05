package ontap

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// clientsEvery is how often ONTAP is asked who uses the volume. It keeps that for
// minutes, and the answer is evidence, not a counter.
const clientsEvery = 5 * time.Second

// connectedClient is a row of /protocols/nfs/connected-clients (9.7 and later).
type connectedClient struct {
	ClientIP string `json:"client_ip"`
	ServerIP string `json:"server_ip"`
	Protocol string `json:"protocol"`
	Volume   named  `json:"volume"`
}

// clients asks for those of the SVM if it is time, else it returns nil.
func (s *Source) clients(ctx context.Context) ([]connectedClient, error) {
	now := s.now()
	s.mu.Lock()
	due := now.Sub(s.known.clientsAt) >= clientsEvery
	if due {
		s.known.clientsAt = now
	}
	s.mu.Unlock()
	if !due {
		return nil, nil
	}
	out, _, err := list[connectedClient](ctx, s, apiClients, s.ofSVM(map[string][]string{
		"fields": fields("client_ip", "server_ip", "protocol", "volume.name"),
	}))
	return out, err
}

// clientsOf are those of one volume, each pair of addresses once for a protocol.
func clientsOf(all []connectedClient, volume string) []storage.ConnectedClient {
	var out []storage.ConnectedClient
	for _, c := range all {
		if c.Volume.Name == volume && c.ClientIP != "" {
			out = append(out, storage.ConnectedClient{Address: c.ClientIP, Server: c.ServerIP, Protocol: c.Protocol})
		}
	}
	slices.SortFunc(out, func(a, b storage.ConnectedClient) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Protocol, b.Protocol))
	})
	return slices.Compact(out)
}
