package v1alpha1

// DatabaseStatus is what was found of the database, and what it counted.
type DatabaseStatus struct {
	// banner of the database.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Banner string `json:"banner,omitempty"`
	// instances that were open.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	Instances []string `json:"instances,omitempty"`
	// provisioningSeconds from the start of the container to a database that
	// takes connections. They are no part of the run.
	// +optional
	ProvisioningSeconds *int64 `json:"provisioningSeconds,omitempty"`
	// directNFSLibrary is the line of the alert log that names the ODM library.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DirectNFSLibrary string `json:"directNFSLibrary,omitempty"`
	// parameters that were asked for, as they were read back.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Parameters []DatabaseParameter `json:"parameters,omitempty"`
	// servers are the rows of V$DNFS_SERVERS under load.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Servers []DirectNFSServer `json:"servers,omitempty"`
	// channels are the paths of V$DNFS_CHANNELS under load.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Channels []DirectNFSChannel `json:"channels,omitempty"`
	// files are the datafiles of V$IOSTAT_FILE, in the repetition of the
	// summary.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Files []DatabaseFile `json:"files,omitempty"`
	// calibrations are the runs of CALIBRATE_IO in order, or the native ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Calibrations []CalibrationStatus `json:"calibrations,omitempty"`
}

// DatabaseParameter is one init parameter.
type DatabaseParameter struct {
	// name of the parameter.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Name string `json:"name"`
	// value that was read back.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`
}

// DirectNFSServer is one row of V$DNFS_SERVERS.
type DirectNFSServer struct {
	// server is SVRNAME: the label of the oranfstab if that was used.
	// +required
	// +kubebuilder:validation:MaxLength=255
	Server string `json:"server"`
	// export is DIRNAME.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Export string `json:"export,omitempty"`
	// version is NFSVERSION, as Oracle writes it: NFSv3.0, Parallel NFS.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version string `json:"version,omitempty"`
}

// DirectNFSChannel is one path of one server, over all processes.
type DirectNFSChannel struct {
	// server is SVRNAME.
	// +required
	// +kubebuilder:validation:MaxLength=255
	Server string `json:"server"`
	// path is the server address.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Path string `json:"path"`
	// local is the client address.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Local string `json:"local,omitempty"`
	// instance is INST_ID, where there are several.
	// +optional
	Instance int32 `json:"instance,omitempty"`
	// sends in the measured windows.
	// +optional
	Sends *int64 `json:"sends,omitempty"`
	// receives in the measured windows.
	// +optional
	Receives *int64 `json:"receives,omitempty"`
}

// DatabaseFile is one datafile of V$IOSTAT_FILE.
type DatabaseFile struct {
	// number is FILE_NO.
	// +required
	Number int64 `json:"number"`
	// accessMethod: DNFS_LIB, or OS_LIB where the kernel carried the I/O.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	AccessMethod string `json:"accessMethod,omitempty"`
	// smallReads is the number of single-block reads.
	// +optional
	SmallReads *int64 `json:"smallReads,omitempty"`
	// smallReadNanoseconds is their mean service time.
	// +optional
	SmallReadNanoseconds *int64 `json:"smallReadNanoseconds,omitempty"`
	// smallSyncReadNanoseconds is the mean latency of the synchronous ones.
	// +optional
	SmallSyncReadNanoseconds *int64 `json:"smallSyncReadNanoseconds,omitempty"`
}

// CalibrationStatus is one run of a calibrate workload.
type CalibrationStatus struct {
	// warmup says that it was not counted.
	// +optional
	Warmup bool `json:"warmup,omitempty"`
	// maxIOPS: random single-block reads a second within the latency.
	// +optional
	MaxIOPS *int64 `json:"maxIOPS,omitempty"`
	// maxMegabytesPerSecond of large random reads.
	// +optional
	MaxMegabytesPerSecond *int64 `json:"maxMegabytesPerSecond,omitempty"`
	// actualLatencyMilliseconds at maxIOPS: whole milliseconds, as Oracle gives
	// them. See meanLatencyMicroseconds of the summary for more.
	// +optional
	ActualLatencyMilliseconds *int64 `json:"actualLatencyMilliseconds,omitempty"`
}

// StepStatus holds the numbers of one level of load: the medians over the
// repetitions.
type StepStatus struct {
	// kind: Users, SmallReads or LargeReads.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// users: sessions, or reads outstanding at once.
	// +required
	Users int32 `json:"users"`
	// throughputBytesPerSecond of both directions together.
	// +optional
	ThroughputBytesPerSecond *int64 `json:"throughputBytesPerSecond,omitempty"`
	// iops of both directions together.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// meanLatencyMicroseconds of one I/O.
	// +optional
	MeanLatencyMicroseconds *int64 `json:"meanLatencyMicroseconds,omitempty"`
	// p99LatencyMicroseconds is the 99th percentile; of a database an upper
	// bound within a factor of two.
	// +optional
	P99LatencyMicroseconds *int64 `json:"p99LatencyMicroseconds,omitempty"`
	// wirePercent is the share of the wire limit.
	// +optional
	WirePercent *int32 `json:"wirePercent,omitempty"`
	// knee says that more users than these gave latency and hardly throughput.
	// +optional
	Knee bool `json:"knee,omitempty"`
}
