package runfile

import "time"

// Observed is what the collector measured beside the load, on the same clock.
type Observed struct {
	IntervalMilliseconds int32             `json:"intervalMilliseconds"`
	Interfaces           []Interface       `json:"interfaces,omitempty"`
	Windows              []ObservedWindow  `json:"windows,omitempty"` // derived: idle baselines and measured windows
	Samples              []HostSample      `json:"samples,omitempty"` // raw
	Storage              []StorageSample   `json:"storage,omitempty"` // raw
	Problems             []CollectionError `json:"problems,omitempty"`
	// ClockOffsetMilliseconds is how far the API server's clock was ahead of this client's, to about a
	// second; absent = unknown. The times of this client use its own clock: add the offset to compare
	// them with other clients.
	ClockOffsetMilliseconds *int64 `json:"clockOffsetMilliseconds,omitempty"`
}

// CollectionError says what could not be collected, and why.
type CollectionError struct {
	Source  string    `json:"source"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	Count   int64     `json:"count"`
}

// Interface is one network interface of the client.
type Interface struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses,omitempty"`
	MTUBytes  int32    `json:"mtuBytes,omitempty"`
	// SpeedBitsPerSecond is absent for virtual interfaces: what a veth reports about
	// its speed is a constant of the driver and not a link.
	SpeedBitsPerSecond *int64 `json:"speedBitsPerSecond,omitempty"`
	Virtual            bool   `json:"virtual,omitempty"`
}

// HostSample is one reading of the client's counters. Counters only grow.
type HostSample struct {
	Time time.Time `json:"time"`
	// TookMilliseconds is the duration of the reading: each counter was read between Time and that
	// much later. It exceeds a few milliseconds if the machine is overloaded.
	TookMilliseconds        int64           `json:"tookMilliseconds,omitempty"`
	NodeBusyMicroseconds    *int64          `json:"nodeBusyMicroseconds,omitempty"` // all CPUs of the machine, /proc/stat
	NodeTotalMicroseconds   *int64          `json:"nodeTotalMicroseconds,omitempty"`
	CgroupCPUMicroseconds   *int64          `json:"cgroupCPUMicroseconds,omitempty"` // of the loader's container
	CgroupThrottledMicros   *int64          `json:"cgroupThrottledMicroseconds,omitempty"`
	TCPRetransmittedSegment *int64          `json:"tcpRetransmittedSegments,omitempty"`
	TCPOutOfOrderSegments   *int64          `json:"tcpOutOfOrderSegments,omitempty"` // arrived before one that was sent earlier
	Interfaces              []InterfaceRead `json:"interfaces,omitempty"`
	Mount                   *MountCounters  `json:"mount,omitempty"`
	// CollectorCPUMicroseconds is the CPU time of the collector; absent if it shares its process with the load.
	CollectorCPUMicroseconds *int64 `json:"collectorCPUMicroseconds,omitempty"`
	// AsyncIO of the node; absent where no database runs in the pod.
	AsyncIO *AsyncIO `json:"asyncIO,omitempty"`
	// Cores of the machine, where a database runs in the pod. They are in no file: the windows have what they were
	// busy.
	Cores []CoreCounters `json:"-"`
}

// CoreCounters is one reading of the CPU time of one core.
type CoreCounters struct {
	Number           int32
	BusyMicroseconds int64
}

// CoreWindow is the use of one core in a window.
type CoreWindow struct {
	Number       int32 `json:"number"`
	BusyPermille int32 `json:"busyPermille"`
}

// AsyncIO is the asynchronous I/O of a kernel, for all processes of the node.
type AsyncIO struct {
	// Requests is fs.aio-nr: how many concurrent requests processes have reserved. A
	// process that would exceed Limit gets none.
	Requests int64 `json:"requests"`
	Limit    int64 `json:"limit"` // fs.aio-max-nr
}

// InterfaceRead is one reading of an interface's counters.
type InterfaceRead struct {
	Name          string `json:"name"`
	ReceivedBytes int64  `json:"receivedBytes"`
	SentBytes     int64  `json:"sentBytes"`
}

// MountCounters is one reading of /proc/self/mountstats for the mounted volume.
type MountCounters struct {
	ServerReadBytes  int64 `json:"serverReadBytes"`
	ServerWriteBytes int64 `json:"serverWriteBytes"`
	DirectReadBytes  int64 `json:"directReadBytes"`
	DirectWriteBytes int64 `json:"directWriteBytes"`
	NormalReadBytes  int64 `json:"normalReadBytes"`
	NormalWriteBytes int64 `json:"normalWriteBytes"`
	PNFSReads        int64 `json:"pnfsReads"`
	PNFSWrites       int64 `json:"pnfsWrites"`
	ReadOps          int64 `json:"readOps"`
	WriteOps         int64 `json:"writeOps"`
	// Retransmits of a window are the transmissions of each kind of operation above its operations. No reading has
	// them.
	Retransmits int64       `json:"retransmits,omitempty"`
	Transports  []Transport `json:"transports,omitempty"`
	// Operations of each kind. They are in no file.
	Operations []OperationCounters `json:"-"`
}

// OperationCounters is one reading of one kind of operation. A call that ends before it is sent is an operation and
// no transmission.
type OperationCounters struct {
	Name                      string
	Operations, Transmissions int64
}

// Transport is one connection of a mount (nconnect makes several).
type Transport struct {
	Protocol string `json:"protocol,omitempty"` // tcp or rdma
	Sends    int64  `json:"sends"`
	Receives int64  `json:"receives"`
}

// StorageSample is one reading of one storage source. Nil is unknown.
type StorageSample struct {
	Source     string    `json:"source"`
	Time       time.Time `json:"time"` // the storage's own clock where it has one
	ReadOps    *int64    `json:"readOps,omitempty"`
	WriteOps   *int64    `json:"writeOps,omitempty"`
	OtherOps   *int64    `json:"otherOps,omitempty"`
	ReadBytes  *int64    `json:"readBytes,omitempty"`
	WriteBytes *int64    `json:"writeBytes,omitempty"`
	// ReadMicroseconds and WriteMicroseconds are the latencies of all operations,
	// added up, as the storage measures them.
	ReadMicroseconds  *int64        `json:"readMicroseconds,omitempty"`
	WriteMicroseconds *int64        `json:"writeMicroseconds,omitempty"`
	Nodes             []StorageNode `json:"nodes,omitempty"`
	Paths             []StoragePath `json:"paths,omitempty"`
	// VolumeNode is the node that owns the data now.
	VolumeNode string `json:"volumeNode,omitempty"`
	// Clients are those that the storage says use the volume; absent in samples
	// that did not ask.
	Clients []StorageClient `json:"clients,omitempty"`
}

// StorageClient is one client of the volume, as the storage sees it.
type StorageClient struct {
	Address  string `json:"address"`          // of the client
	Server   string `json:"server,omitempty"` // the address (LIF) that it uses
	Protocol string `json:"protocol,omitempty"`
}

// StorageNode is one storage controller or server.
type StorageNode struct {
	Name             string `json:"name"`
	BusyMicroseconds *int64 `json:"busyMicroseconds,omitempty"` // CPU time used, all cores
	Cores            *int32 `json:"cores,omitempty"`
	// BaseMicroseconds is the time in which it could have been busy, counted by
	// the storage itself; where it is present, Cores is not.
	BaseMicroseconds *int64 `json:"baseMicroseconds,omitempty"`
}

// StoragePath is one address of the storage (a LIF).
type StoragePath struct {
	Address    string `json:"address"`
	Name       string `json:"name,omitempty"` // of the LIF
	Node       string `json:"node,omitempty"` // that it is on now
	ReadBytes  *int64 `json:"readBytes,omitempty"`
	WriteBytes *int64 `json:"writeBytes,omitempty"`
	Ops        *int64 `json:"ops,omitempty"`
}

// ObservedWindow is what the counters did in one idle baseline, one measured window, or the part of a
// calibration with small or with large reads. Deltas are taken between the samples next to its ends.
type ObservedWindow struct {
	Kind       string    `json:"kind" jsonschema:"enum=Baseline,enum=Measure,enum=SmallReads,enum=LargeReads"`
	Repetition int32     `json:"repetition"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	// EdgeMilliseconds is the duration of both readings together: the client's counters may cover a
	// time that differs by as much from Start and End.
	EdgeMilliseconds        int64           `json:"edgeMilliseconds,omitempty"`
	NodeCPUPermille         *int32          `json:"nodeCPUPermille,omitempty"`      // busy share of all CPUs
	NodeBusyMicroseconds    *int64          `json:"nodeBusyMicroseconds,omitempty"` // of all CPUs
	Cores                   []CoreWindow    `json:"cores,omitempty"`                // of a database in the pod
	CgroupCPUMicroseconds   *int64          `json:"cgroupCPUMicroseconds,omitempty"`
	CgroupThrottledMicros   *int64          `json:"cgroupThrottledMicroseconds,omitempty"`
	TCPRetransmittedSegment *int64          `json:"tcpRetransmittedSegments,omitempty"`
	TCPOutOfOrderSegments   *int64          `json:"tcpOutOfOrderSegments,omitempty"`
	Interfaces              []InterfaceRead `json:"interfaces,omitempty"`
	Mount                   *MountCounters  `json:"mount,omitempty"`
	// CollectorCPUMicroseconds is the CPU time of the collector.
	CollectorCPUMicroseconds *int64          `json:"collectorCPUMicroseconds,omitempty"`
	AsyncIO                  *AsyncIO        `json:"asyncIO,omitempty"` // the sample with the most requests
	Storage                  []StorageWindow `json:"storage,omitempty"`
}

// StorageWindow is what one storage source counted in a window.
type StorageWindow struct {
	Source  string  `json:"source"`
	Seconds float64 `json:"seconds"` // between the two readings, by the storage's clock
	// Start and End are the times of the counters in the two readings, by the client's clock, as far
	// as they are known.
	Start      time.Time           `json:"start,omitzero"`
	End        time.Time           `json:"end,omitzero"`
	ReadOps    *int64              `json:"readOps,omitempty"`
	WriteOps   *int64              `json:"writeOps,omitempty"`
	OtherOps   *int64              `json:"otherOps,omitempty"`
	ReadBytes  *int64              `json:"readBytes,omitempty"`
	WriteBytes *int64              `json:"writeBytes,omitempty"`
	Nodes      []StorageNodeWindow `json:"nodes,omitempty"`
	Paths      []StoragePath       `json:"paths,omitempty"`
	Reset      bool                `json:"reset,omitempty"` // counters went back in the window: no deltas
	// ReadMicroseconds and WriteMicroseconds are latencies added up.
	ReadMicroseconds  *int64 `json:"readMicroseconds,omitempty"`
	WriteMicroseconds *int64 `json:"writeMicroseconds,omitempty"`
	// VolumeNodes are the nodes that owned the data in the window, in order:
	// more than one = it was moved.
	VolumeNodes []string `json:"volumeNodes,omitempty"`
	// Clients are from the last sample of the window that has any.
	Clients []StorageClient `json:"clients,omitempty"`
}

// StorageNodeWindow is the CPU use of one storage node in a window.
type StorageNodeWindow struct {
	Name        string `json:"name"`
	CPUPermille *int32 `json:"cpuPermille,omitempty"` // of all its cores
}
