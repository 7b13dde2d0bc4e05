// Package control is the protocol between the harness of the array and its N-blades: JSON over HTTP
// on a Unix socket, which crosses network namespaces.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// NFS4Port is the port of the server of NFSv4 behind the nodes. Clients use 2049.
const NFS4Port = "4049"

// Settings are the parameters that an N-blade needs to start.
type Settings struct {
	Node    string            `json:"node"`    // the node it runs on
	Listen  []string          `json:"listen"`  // addresses of its LIFs
	Blades  map[string]string `json:"blades"`  // node: address of its D-blade
	NFS4    string            `json:"nfs4"`    // address and NFS4Port of the server of NFSv4
	Volumes []Volume          `json:"volumes"` // at least one
	Socket  string            `json:"socket"`  // where it takes orders
}

// Volume is one export, as file handles and mounts name it.
type Volume struct {
	Name     string `json:"name"`
	Junction string `json:"junction"` // path of the mount
	Export   uint16 `json:"export"`   // Export_Id of NFS-Ganesha: bytes 2 and 3 of its file handles
	Owner    string `json:"owner"`    // node
}

// The orders.
const (
	// Hold lets no new call to a volume through and waits until those in flight have
	// their replies; if they do not have them in time it holds no longer and fails.
	Hold = "hold"
	// Release lets calls to the volume through, to the owner that the order names.
	Release = "release"
	// Add makes a volume known.
	Add = "add"
	// Remove forgets a volume; one that is not known is no error. The first stays.
	Remove = "remove"
	// Limit limits the reads and writes of a volume, see Limits.
	Limit = "limit"
)

// Order is the body of an order.
type Order struct {
	Volume Volume `json:"volume"`
	// Milliseconds is how long hold waits for what is in flight.
	Milliseconds int64  `json:"milliseconds,omitempty"`
	Limits       Limits `json:"limits,omitzero"`
}

// Limits set the speed of a volume, like its disks or a QoS policy. The zero Limits set no limit.
type Limits struct {
	// OpsPerSecond is the number of reads and writes that all nodes together allow; 0 = no limit.
	OpsPerSecond int64 `json:"opsPerSecond,omitempty"`
	// CachedPermille is the share of the reads that a cache in front of the volume answers: they do
	// not wait for the volume, and it does not count them.
	CachedPermille int `json:"cachedPermille,omitempty"`
	// Clock is a file of ClockBytes that all nodes share, so that they share one limit.
	Clock string `json:"clock,omitempty"`
}

// ClockBytes is the size of Limits.Clock.
const ClockBytes = 8

// Counts are the counters of one N-blade; they only grow while it lives. Latency is from the last
// header of a call to that of its reply. Requests are local if the node of the LIF owned the
// volume; others went over the cluster link.
type Counts struct {
	Volumes map[string]ontap.VolumeCounters `json:"volumes"`
	Clients []ontap.Client                  `json:"clients"`
	Calls   uint64                          `json:"calls"` // of all connections
	// NFS4Calls are calls to the server of NFSv4, by the node that owned the volume then.
	NFS4Calls map[string]uint64 `json:"nfs4Calls"`
}

// Client speaks to one N-blade. It may be used from several goroutines.
type Client struct{ http *http.Client }

// NewClient returns a client of the N-blade behind a socket. It connects when it
// is used.
func NewClient(socket string) Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return Client{&http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Counts reads the counters.
func (c Client) Counts(ctx context.Context) (Counts, error) {
	var counts Counts
	return counts, c.do(ctx, http.MethodGet, "counts", nil, &counts)
}

// Order gives an order.
func (c Client) Order(ctx context.Context, order string, o Order) error {
	return c.do(ctx, http.MethodPost, order, o, nil)
}

func (c Client) do(ctx context.Context, method, what string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://nblade/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("tell the N-blade to %s: %w", what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("tell the N-blade to %s: %s", what, strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
