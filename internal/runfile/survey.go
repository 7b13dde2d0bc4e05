package runfile

import (
	"net/netip"
	"strings"
	"time"
)

// SurveyVersion is the version that every survey and every request for one names.
const SurveyVersion = "nfsbench.io/survey/v1"

const (
	// DefaultSurveySeconds bounds a survey that names no timeout.
	DefaultSurveySeconds = 60
	// MaxMoveSeconds bounds the wait for a move: one day, in which an array copies some ten TiB beside its other
	// work.
	MaxMoveSeconds = 86400
)

// SurveyRequest says what is to be found out of an array before a run, and
// whether a volume is to be moved first.
type SurveyRequest struct {
	Version string   `json:"version" jsonschema:"enum=nfsbench.io/survey/v1"`
	Run     Identity `json:"run"`
	Source  Source   `json:"source"` // the array
	// Export is the export path in use, by which the volume is found when
	// Source.Volume does not name it.
	Export string `json:"export,omitempty"`
	// MoveTo is the aggregate that the volume is moved to, online, before the
	// survey is made; empty = it stays where it is.
	MoveTo         string `json:"moveTo,omitempty"`
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty"` // of the survey without the move; 0 = 60
}

// Survey is what an array reports about itself before a run. What it does not say is
// absent, and Missing says why.
type Survey struct {
	Version string    `json:"version" jsonschema:"enum=nfsbench.io/survey/v1"`
	Source  string    `json:"source"` // name of the source in the plan
	Array   string    `json:"array"`  // in words, such as "ONTAP 9.14.1, cluster naclu1, SVM vsdb122b"
	Time    time.Time `json:"time"`   // by the clock of the surveyor
	// ClockOffsetMilliseconds is the array's clock less ours.
	ClockOffsetMilliseconds *int64 `json:"clockOffsetMilliseconds,omitempty"`
	// Clients are the addresses that the array may see the clients as: the
	// pod's own and its node's.
	Clients []string       `json:"clients,omitempty"`
	Nodes   []SurveyNode   `json:"nodes,omitempty"` // sorted by name
	LIFs    []LIF          `json:"lifs,omitempty"`  // that serve NFS, sorted by name
	Volume  *SurveyVolume  `json:"volume,omitempty"`
	NFS     *NFSService    `json:"nfs,omitempty"`
	Rules   []ExportRule   `json:"rules,omitzero"` // of the policy of the volume or its qtree, in order; empty = it admits nobody
	Missing []MissingFact  `json:"missing,omitempty"`
	Move    *VolumeMove    `json:"move,omitempty"`
	Problem *SurveyProblem `json:"problem,omitempty"` // why there is no survey; nothing else is set then
}

// SurveyNode is one controller of the array.
type SurveyNode struct {
	Name  string `json:"name"`
	Model string `json:"model,omitempty"`
	Up    *bool  `json:"up,omitempty"`
}

// LIF is one data address of the array: a LIF, or a VIP.
type LIF struct {
	Name     string `json:"name"`
	Address  string `json:"address"`
	Prefix   int32  `json:"prefix,omitempty"`   // length of its network's prefix; 0 = not known
	Node     string `json:"node,omitempty"`     // where it is now; empty = it has no node (FlashBlade)
	HomeNode string `json:"homeNode,omitempty"` // where it belongs
	AtHome   *bool  `json:"atHome,omitempty"`   // on its home node and port
	Up       *bool  `json:"up,omitempty"`       // enabled and up
}

// SurveyVolume is the volume or file system behind the export.
type SurveyVolume struct {
	Name           string `json:"name"`
	UUID           string `json:"uuid,omitempty"`
	Export         string `json:"export,omitempty"` // its export path (junction)
	Style          string `json:"style,omitempty"`  // flexvol, flexgroup
	State          string `json:"state,omitempty"`
	Aggregate      string `json:"aggregate,omitempty"`
	Node           string `json:"node,omitempty"` // that owns the data; empty = none or several
	SizeBytes      *int64 `json:"sizeBytes,omitempty"`
	AvailableBytes *int64 `json:"availableBytes,omitempty"`
	ExportPolicy   string `json:"exportPolicy,omitempty"`
	Moving         bool   `json:"moving,omitempty"` // a move of somebody else is under way
	QoS            *QoS   `json:"qos,omitempty"`
}

// QoS is the ceiling that the array puts on a volume.
type QoS struct {
	Policy            string `json:"policy"`
	MaxIOPS           *int64 `json:"maxIOPS,omitempty"`
	MaxBytesPerSecond *int64 `json:"maxBytesPerSecond,omitempty"`
}

// NFSService is what the array offers; nil = not known.
type NFSService struct {
	Enabled           *bool  `json:"enabled,omitempty"`
	V3                *bool  `json:"v3,omitempty"`
	V40               *bool  `json:"v40,omitempty"`
	V41               *bool  `json:"v41,omitempty"`
	PNFS              *bool  `json:"pnfs,omitempty"`
	TransferSizeBytes *int64 `json:"transferSizeBytes,omitempty"` // the largest READ and WRITE over TCP
}

// ExportRule admits clients to the volume.
type ExportRule struct {
	Index     int32    `json:"index"`
	Clients   []string `json:"clients"`             // addresses, networks, host names, netgroups as the array writes them
	Protocols []string `json:"protocols,omitempty"` // any, nfs, nfs3, nfs4
	ReadOnly  []string `json:"readOnly,omitempty"`  // security flavours that may read: any, never, none, sys, krb5 ...
	ReadWrite []string `json:"readWrite,omitempty"`
	SuperUser []string `json:"superUser,omitempty"`
}

// MissingFact is something that the array did not tell.
type MissingFact struct {
	What string `json:"what"` // such as "CPU of the nodes"
	Why  string `json:"why"`  // such as "the account may not read /api/cluster/nodes (403)"
	Fix  string `json:"fix,omitempty"`
}

// VolumeMove is the outcome of a requested move.
type VolumeMove struct {
	From    string  `json:"from"` // aggregates
	To      string  `json:"to"`
	Seconds float64 `json:"seconds"`
	Percent int32   `json:"percent"` // 100 = done
}

// SurveyProblem is why a survey could not be made.
type SurveyProblem struct {
	// Reason is one of the Survey reasons.
	Reason  string `json:"reason" jsonschema:"enum=ArrayUnreachable,enum=ArrayRefused,enum=ArrayUntrusted,enum=VolumeNotFound,enum=MoveFailed,enum=ArrayFailed"`
	Message string `json:"message"` // says what to do; never holds a secret
}

// The reasons why a survey could not be made.
const (
	SurveyUnreachable = "ArrayUnreachable" // no connection, or no answer in time
	SurveyRefused     = "ArrayRefused"     // credentials or role
	SurveyUntrusted   = "ArrayUntrusted"   // its certificate cannot be verified
	SurveyNoVolume    = "VolumeNotFound"   // nothing there that belongs to the export
	SurveyMoveFailed  = "MoveFailed"
	SurveyFailed      = "ArrayFailed" // anything else
)

// IsMoving reports whether the survey has only the progress of a move, and no answer yet.
func (s Survey) IsMoving() bool {
	return s.Problem == nil && s.Move != nil && s.Move.Percent < 100
}

// LIF returns the data address of the survey that equals address, or nil. A nil survey has none.
func (s *Survey) LIF(address string) *LIF {
	if s == nil {
		return nil
	}
	for i := range s.LIFs {
		if SameAddress(s.LIFs[i].Address, address) {
			return &s.LIFs[i]
		}
	}
	return nil
}

// IsLocal reports whether address is on the node that owns the volume. known is false if the survey does not
// show it.
func (s *Survey) IsLocal(address string) (local, known bool) {
	l := s.LIF(address)
	if l == nil || l.Node == "" || s.Volume == nil || s.Volume.Node == "" {
		return false, false
	}
	return l.Node == s.Volume.Node, true
}

// StandIn is the word with which a stand-in identifies itself.
const StandIn = "stand-in"

// IsStandIn reports whether the surveyed array identifies itself as a stand-in: its result is simulated. The
// stand-ins of this project do.
func (s *Survey) IsStandIn() bool { return s != nil && strings.Contains(s.Array, StandIn) }

// SameAddress reports whether two addresses are equal in any spelling. It compares host names as text.
func SameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return a == b || errX == nil && errY == nil && x.Unmap() == y.Unmap()
}
