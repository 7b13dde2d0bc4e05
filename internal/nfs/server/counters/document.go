package counters

import "time"

// DocumentVersion is the version of Document. It rises when a field changes its meaning;
// new fields do not raise it.
const DocumentVersion = 1

// Document is what GET /counters answers.
type Document struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	// Time is when the counters were read, by the server's clock.
	Time          time.Time `json:"time"`
	StartTime     time.Time `json:"startTime"`
	UptimeSeconds float64   `json:"uptimeSeconds"`
	// CPUSeconds is user plus system time of the server process since it started.
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	// Cores is how many processors the process may use.
	Cores         int32            `json:"cores"`
	ResidentBytes *uint64          `json:"residentBytes,omitempty"`
	Total         Counts           `json:"total"`
	Listeners     []ListenerCounts `json:"listeners"`
}

// ListenerCounts are the counts of one listening address.
type ListenerCounts struct {
	Address string `json:"address"`
	Counts
}

// Counts are what was done. Bytes are file data, without protocol.
type Counts struct {
	ConnectionsAccepted uint64 `json:"connectionsAccepted"`
	ConnectionsRefused  uint64 `json:"connectionsRefused"`
	ConnectionsActive   uint64 `json:"connectionsActive"`
	ReadOps             uint64 `json:"readOps"`
	WriteOps            uint64 `json:"writeOps"`
	OtherOps            uint64 `json:"otherOps"`
	ReadBytes           uint64 `json:"readBytes"`
	WrittenBytes        uint64 `json:"writtenBytes"`
	// RPCErrors are calls refused or not understood, NFSErrors answers with a status
	// other than NFS3_OK; a LOOKUP that finds nothing is one of them.
	RPCErrors  uint64            `json:"rpcErrors"`
	NFSErrors  uint64            `json:"nfsErrors"`
	Operations map[string]uint64 `json:"operations"`
}

func (c *Counts) add(o Counts) {
	c.ConnectionsAccepted += o.ConnectionsAccepted
	c.ConnectionsRefused += o.ConnectionsRefused
	c.ConnectionsActive += o.ConnectionsActive
	c.ReadOps += o.ReadOps
	c.WriteOps += o.WriteOps
	c.OtherOps += o.OtherOps
	c.ReadBytes += o.ReadBytes
	c.WrittenBytes += o.WrittenBytes
	c.RPCErrors += o.RPCErrors
	c.NFSErrors += o.NFSErrors
	for name, n := range o.Operations {
		c.Operations[name] += n
	}
}
