package ontap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// count is a counter or a size. It is absent if ONTAP sent a negative value or not a number.
type count struct {
	n  uint64
	ok bool
}

// UnmarshalJSON accepts any value and returns no error.
func (c *count) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(bytes.Trim(b, `"`)), 10, 63)
	c.n, c.ok = n, err == nil
	return nil
}

func (c count) signed() *int64 {
	if !c.ok {
		return nil
	}
	return new(int64(c.n)) //nolint:gosec // it was parsed as 63 bits
}

// positive returns the counter, or nil for zero, with which ONTAP means "none".
func (c count) positive() *int64 {
	if c.n == 0 {
		return nil
	}
	return c.signed()
}

type named struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
}

func names(all []named) []string {
	var out []string
	for _, n := range all {
		if n.Name != "" {
			out = append(out, n.Name)
		}
	}
	return out
}

// state holds the time of counters, and whether they are usable.
type state struct {
	Timestamp string `json:"timestamp"`
	Status    string `json:"status"`
}

// usable reports whether the counters are valid. ONTAP has many words for invalid ones.
func (s state) usable() bool {
	return s.Status == "ok" || s.Status == "backfilled_data" || s.Status == "backfilled"
}

func (s state) time() (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05 -0700"} {
		if t, err := time.Parse(layout, s.Timestamp); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// operations splits a counter by kind.
type operations struct {
	Read  count `json:"read"`
	Write count `json:"write"`
	Other count `json:"other"`
}

type volume struct {
	named
	Style      string  `json:"style"`
	State      string  `json:"state"`
	Size       count   `json:"size"`
	SVM        named   `json:"svm"`
	Aggregates []named `json:"aggregates"`
	Nodes      []named `json:"nodes"`
	Space      struct {
		Available count `json:"available"`
	} `json:"space"`
	NAS struct {
		Path         string       `json:"path"`
		ExportPolicy exportPolicy `json:"export_policy"`
	} `json:"nas"`
	Movement movement `json:"movement"`
	QoS      struct {
		Policy qosPolicy `json:"policy"`
	} `json:"qos"`
	Statistics *struct {
		state
		IOPS       operations `json:"iops_raw"`
		Latency    operations `json:"latency_raw"`    // microseconds
		Throughput operations `json:"throughput_raw"` // bytes
	} `json:"statistics"`
}

type exportPolicy struct {
	named
	ID count `json:"id"`
}

type qtree struct {
	named
	ExportPolicy exportPolicy `json:"export_policy"`
}

type movement struct {
	State       string `json:"state"`
	Percent     count  `json:"percent_complete"`
	Destination named  `json:"destination_aggregate"`
}

// running reports whether a move is under way.
func (m movement) running() bool {
	switch m.State {
	case "queued", "replicating", "cutover", "cutover_wait", "cutover_pending", "paused":
		return true
	}
	return false
}

// over reports whether no move is under way. For an unknown state both running and over return false.
func (m movement) over() bool {
	switch m.State {
	case "", "success", "failed", "aborted":
		return true
	}
	return false
}

type qosPolicy struct {
	Name    string `json:"name"`
	MaxIOPS count  `json:"max_throughput_iops"`
	MaxMBPS count  `json:"max_throughput_mbps"`
	MinIOPS count  `json:"min_throughput_iops"`
	MinMBPS count  `json:"min_throughput_mbps"`
}

// told reports whether ONTAP reports a limit. A policy may have only a floor, and no ceiling.
func (p qosPolicy) told() bool { return p.MaxIOPS.ok || p.MaxMBPS.ok || p.MinIOPS.ok || p.MinMBPS.ok }

// qosGroup is a policy in the collection of QoS policies.
type qosGroup struct {
	Fixed    *qosPolicy `json:"fixed"`
	Adaptive *struct{}  `json:"adaptive"`
}

type node struct {
	named
	State      string `json:"state"`
	Model      string `json:"model"`
	Statistics *struct {
		state
		Raw  count `json:"processor_utilization_raw"`
		Base count `json:"processor_utilization_base"`
	} `json:"statistics"`
}

// measured reports whether the node has usable processor counters.
func (n node) measured() bool {
	s := n.Statistics
	return s != nil && s.usable() && s.Raw.ok && s.Base.ok
}

type lif struct {
	named
	Enabled *bool  `json:"enabled"`
	State   string `json:"state"`
	IP      struct {
		Address string  `json:"address"`
		Netmask netmask `json:"netmask"`
	} `json:"ip"`
	Location struct {
		Node     named `json:"node"`
		HomeNode named `json:"home_node"`
		IsHome   *bool `json:"is_home"`
	} `json:"location"`
	Statistics *struct {
		state
		Throughput operations `json:"throughput_raw"` // bytes, seen from ONTAP: read = sent
	} `json:"statistics"`
}

// netmask is the length of a prefix, 0 = unknown. ONTAP sends the length as a string.
type netmask int32

// UnmarshalJSON also accepts a number and an IPv4 mask.
func (m *netmask) UnmarshalJSON(b []byte) error {
	*m = netmask(storage.PrefixLength(128, strings.Trim(string(b), `"`)))
	return nil
}

type aggregate struct {
	named
	Node named `json:"node"`
}

type nfsService struct {
	Enabled  *bool  `json:"enabled"`
	State    string `json:"state"`
	Protocol struct {
		V3          *bool `json:"v3_enabled"`
		V40         *bool `json:"v40_enabled"`
		V41         *bool `json:"v41_enabled"`
		V41Features struct {
			PNFS *bool `json:"pnfs_enabled"`
		} `json:"v41_features"`
	} `json:"protocol"`
	Transport struct {
		MaxTransfer count `json:"tcp_max_transfer_size"`
	} `json:"transport"`
}

type exportRule struct {
	Index   *int32 `json:"index"`
	Clients []struct {
		Match string `json:"match"`
	} `json:"clients"`
	Protocols []string `json:"protocols"`
	ReadOnly  []string `json:"ro_rule"`
	ReadWrite []string `json:"rw_rule"`
	SuperUser []string `json:"superuser"`
}

type cluster struct {
	Name    string `json:"name"`
	Version struct {
		Full       string `json:"full"`
		Generation *int   `json:"generation"`
		Major      *int   `json:"major"`
		Minor      *int   `json:"minor"`
	} `json:"version"`
}

// release returns the version with the patch level: "9.14.1P2" out of "NetApp Release 9.14.1P2: Fri Feb ...".
// It keeps what a stand-in of ONTAP reports about itself there.
func (c cluster) release() string {
	if full, ok := strings.CutPrefix(c.Version.Full, "NetApp Release "); ok {
		full, _, _ = strings.Cut(full, ":")
		return full
	}
	if n := c.Version; n.Generation != nil && n.Major != nil && n.Minor != nil {
		return fmt.Sprintf("%d.%d.%d", *n.Generation, *n.Major, *n.Minor)
	}
	return ""
}

// job is ONTAP's record of an asynchronous change.
type job struct {
	State   string          `json:"state"`
	Message string          `json:"message"`
	Code    json.RawMessage `json:"code"`
	Error   *struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	} `json:"error"`
}
