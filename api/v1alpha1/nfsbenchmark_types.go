package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
)

// NFSBenchmark is one benchmark of NFS storage for Oracle. It runs once, to its
// end; a finished one is evidence and is never run again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=nfsb,categories=nfsbench
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Validity",type=string,JSONPath=`.status.validity`
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.status.summary.workload`
// +kubebuilder:printcolumn:name="Protocol",type=string,JSONPath=`.status.summary.protocol`
// +kubebuilder:printcolumn:name="MB/s",type=integer,JSONPath=`.status.summary.throughputMegabytesPerSecond`
// +kubebuilder:printcolumn:name="IOPS",type=integer,JSONPath=`.status.summary.iops`
// +kubebuilder:printcolumn:name="p99",type=string,JSONPath=`.status.summary.p99Latency`
// +kubebuilder:printcolumn:name="% wire",type=integer,JSONPath=`.status.summary.wirePercent`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="MB/s 95%",type=string,priority=1,JSONPath=`.status.summary.intervals.throughput`
// +kubebuilder:printcolumn:name="p99 95%",type=string,priority=1,JSONPath=`.status.summary.intervals.p99Latency`
// +kubebuilder:printcolumn:name="Latency",type=string,priority=1,JSONPath=`.status.summary.meanLatency`
// +kubebuilder:printcolumn:name="Capacity",type=string,priority=1,JSONPath=`.status.summary.capacity`
// +kubebuilder:printcolumn:name="Paths",type=string,priority=1,JSONPath=`.status.summary.paths`
// +kubebuilder:printcolumn:name="Storage CPU",type=string,priority=1,JSONPath=`.status.summary.storageCPU`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type NFSBenchmark struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec declares the storage, the protocol and the load. It cannot be
	// changed after creation, but for suspend, cleanup and
	// ttlSecondsAfterFinished: delete the object and create another, or use
	// another name.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.storage == oldSelf.storage && self.protocol == oldSelf.protocol && self.workload == oldSelf.workload && has(self.database) == has(oldSelf.database) && (!has(self.database) || self.database == oldSelf.database) && self.clients == oldSelf.clients && self.run == oldSelf.run && has(self.expect) == has(oldSelf.expect) && (!has(self.expect) || self.expect == oldSelf.expect) && has(self.pods) == has(oldSelf.pods) && (!has(self.pods) || self.pods == oldSelf.pods)",message="a benchmark cannot be changed once it exists, except suspend, cleanup and ttlSecondsAfterFinished: create a new NFSBenchmark with another name"
	Spec NFSBenchmarkSpec `json:"spec"`
	// status is what the operator found.
	// +optional
	Status NFSBenchmarkStatus `json:"status,omitempty"`
}

// NFSBenchmarkList is a list of NFSBenchmarks.
//
// +kubebuilder:object:root=true
type NFSBenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the benchmarks.
	// +required
	Items []NFSBenchmark `json:"items"`
}

// NFSBenchmarkSpec declares one benchmark.
//
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.paths) || self.protocol.paths.select != 'Explicit' || !has(self.storage.embedded)",message="storage.embedded makes its own addresses: leave out protocol.paths, or set paths.select to All and choose their number with storage.embedded.paths"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.paths) || self.protocol.paths.select != 'Explicit' || !has(self.storage.export) || !has(self.protocol.paths.explicit) || self.protocol.paths.explicit.all(p, p.path in self.storage.export.servers)",message="each protocol.paths.explicit[].path must be one of storage.export.servers: add the address there, or correct the path"
// +kubebuilder:validation:XValidation:rule="self.protocol.client != 'Kernel' || !has(self.storage.export) || size(self.storage.export.servers) == 1 || (has(self.protocol.paths) && self.protocol.paths.select != 'All')",message="the kernel client mounts one address: give one server in storage.export.servers, choose one with protocol.paths.select: Explicit, Local or Remote, or use client: DirectNFS for several paths"
// +kubebuilder:validation:XValidation:rule="self.protocol.client != 'Kernel' || !has(self.storage.embedded) || !has(self.storage.embedded.paths) || self.storage.embedded.paths == 1",message="the kernel client mounts one address: set storage.embedded.paths to 1, or use client: DirectNFS for several paths"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.export) || self.protocol.client != 'DirectNFS' || size(self.storage.export.servers) <= 4 || (has(self.protocol.paths) && self.protocol.paths.select != 'All')",message="Direct NFS uses at most four paths per server: list at most four storage.export.servers, or choose up to four with protocol.paths.select: Explicit"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.export) || self.protocol.client != 'DirectNFS' || (has(self.protocol.paths) && self.protocol.paths.select != 'All') || self.storage.export.servers.all(a, !isIP(a) || self.storage.export.servers.exists_one(b, isIP(b) && cidr(a + (ip(a).family() == 4 ? '/24' : '/64')).containsIP(b)))",message="two addresses in storage.export.servers are in one subnet (/24, or /64 with IPv6): Linux sends all traffic of a subnet through one interface, so give each path a subnet of its own, or choose one path with protocol.paths.select: Explicit"
// +kubebuilder:validation:XValidation:rule="!(has(self.storage.claim) || has(self.storage.storageClass)) || !has(self.protocol.paths) || self.protocol.paths.select == 'All' || self.protocol.client == 'DirectNFS'",message="the kernel client uses the address that the claim's volume was mounted from: leave out protocol.paths, or use client: DirectNFS"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.paths) || !(self.protocol.paths.select in ['Local', 'Remote']) || (has(self.storage.array) && has(self.storage.array.ontap))",message="protocol.paths.select Local and Remote need to know which node owns the volume: give storage.array.ontap, or name the address with select: Explicit"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.trident) || self.protocol.client != 'Kernel' || !has(self.protocol.paths) || self.protocol.paths.select == 'All'",message="a kernel mount uses the dataLIF of the Trident backend: leave out protocol.paths and let an administrator set dataLIF of the backend in policy.backends, or use client: DirectNFS"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.trident) || has(self.storage.trident.backendName) || self.protocol.client != 'Kernel' || (!has(self.protocol.nconnect) && !has(self.protocol.transferSize))",message="a volume of an existing StorageClass is mounted with the options of that class: set nconnect, rsize and wsize there and leave out protocol.nconnect and protocol.transferSize, or give storage.trident.backendName"
// +kubebuilder:validation:XValidation:rule="!has(self.workload.raw) || !(has(self.storage.trident) || has(self.storage.storageClass) || has(self.storage.embedded)) || quantity(string(has(self.storage.trident) ? self.storage.trident.size : has(self.storage.storageClass) ? self.storage.storageClass.size : self.storage.embedded.size)).asApproximateFloat() * 9.0 >= 10.0 * quantity(string(self.workload.raw.fileSize)).asApproximateFloat() * double(self.workload.raw.jobs * self.clients * (self.workload.raw.pattern == 'Copy' ? 2 : 1))",message="the files of workload.raw (fileSize x jobs x clients, twice that for Copy) take more than 90 % of the storage, and the file system needs the rest: raise storage.storageClass.size, storage.trident.size or storage.embedded.size, for example to 5Gi for 4 jobs x 1Gi, or make workload.raw.fileSize smaller"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.database.container) || !(has(self.storage.trident) || has(self.storage.storageClass) || has(self.storage.embedded)) || quantity(string(has(self.storage.trident) ? self.storage.trident.size : has(self.storage.storageClass) ? self.storage.storageClass.size : self.storage.embedded.size)).asApproximateFloat() > 4.0 * (has(self.database.container.redoLogSize) ? quantity(string(self.database.container.redoLogSize)).asApproximateFloat() : 0.0) + (has(self.database.container.undoSize) ? quantity(string(self.database.container.undoSize)).asApproximateFloat() : 0.0) + (has(self.workload.calibrate) && has(self.workload.calibrate.databaseSize) ? quantity(string(self.workload.calibrate.databaseSize)).asApproximateFloat() : 0.0)",message="the storage has no room for the database, four redo logs of database.container.redoLogSize, undoSize and workload.calibrate.databaseSize: raise storage.storageClass.size, storage.trident.size or storage.embedded.size, or lower them"
// +kubebuilder:validation:XValidation:rule="!(has(self.storage.claim) || has(self.storage.storageClass)) || self.protocol.client != 'Kernel' || (!has(self.protocol.nconnect) && !has(self.protocol.transferSize))",message="a claim's volume is mounted with the options of its StorageClass or PersistentVolume: set nconnect, rsize and wsize there and leave out protocol.nconnect and protocol.transferSize"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || self.protocol.version == 'NFSv3'",message="the embedded server speaks NFSv3 only: set protocol.version to NFSv3, or use storage.export or storage.claim"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.protocol.transport) || self.protocol.transport == 'TCP'",message="the embedded server uses TCP only: leave out protocol.transport"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.protocol.security) || self.protocol.security == 'sys'",message="the embedded server knows security sys only: set protocol.security to sys"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.sessions) || self.protocol.sessions == 1 || !has(self.database)",message="protocol.sessions is for the native engine, and a database opens its own: leave out protocol.sessions, or database"
// +kubebuilder:validation:XValidation:rule="self.protocol.client != 'DirectNFS' || !has(self.protocol.security) || self.protocol.security == 'sys' || has(self.database)",message="the native Direct NFS engine knows security sys only: set protocol.security to sys, or protocol.client to Kernel"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.protocol.paths) || !has(self.protocol.paths.explicit) || self.protocol.paths.explicit.all(p, !has(p.localInterface))",message="an oranfstab has addresses and no interfaces: give protocol.paths.explicit[].local instead of localInterface, or leave out spec.database"
// +kubebuilder:validation:XValidation:rule="!has(self.workload.calibrate) || !has(self.workload.calibrate.databaseSize) || has(self.database) && has(self.database.container)",message="workload.calibrate.databaseSize is for a database of the run's own: set database.container, or remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.workload.raw)",message="workload.raw is a load without a database: remove spec.database, or use workload.calibrate or workload.slob"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.clients) || self.clients == 1",message="a database is loaded by one client, whose sessions are workload.slob.users: set clients to 1"
// +kubebuilder:validation:XValidation:rule="has(self.database) || !has(self.workload.slob) || !has(self.workload.slob.kit)",message="workload.slob.kit runs in a database: give spec.database"
// +kubebuilder:validation:XValidation:rule="has(self.database) || !has(self.workload.calibrate) || self.clients == 1",message="a native calibrate raises the load of one client: set clients to 1"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.database.external) || has(self.storage.export) || has(self.storage.claim)",message="database.external has its data where it is: name that with storage.export or storage.claim, or run a database.container on the storage"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.export) || !has(self.storage.export.redoPath) || (has(self.database) && has(self.database.container))",message="storage.export.redoPath is for the redo logs of a database that the run starts: give database.container, or leave redoPath out"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.export) || !has(self.storage.export.redoPath) || !has(self.database) || !has(self.database.container) || !has(self.database.container.existingDatabase) || self.database.container.existingDatabase != 'Use'",message="storage.export.redoPath would drop the redo logs of a database that was not created for a benchmark: leave redoPath out, or set database.container.existingDatabase to Refuse and use an empty volume"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || (self.protocol.userID == 54321 && self.protocol.groupID == 54321)",message="a database runs as the user oracle (54321) and its group: leave out protocol.userID and protocol.groupID"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.database.container) || self.protocol.client != 'DirectNFS' || !(self.protocol.version in ['NFSv4.0', 'NFSv4.1']) || (has(self.protocol.paths) && self.protocol.paths.select != 'All' ? !has(self.protocol.paths.explicit) || size(self.protocol.paths.explicit) == 1 : !has(self.storage.export) || size(self.storage.export.servers) == 1)",message="Oracle's Direct NFS uses several paths with NFSv3 only: choose one with protocol.paths.select: Explicit, or set protocol.version to NFSv3"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.database.container) || !(self.database.container.edition in ['Free', 'Express']) || !has(self.workload.slob) || has(self.workload.slob.kit) || (self.workload.slob.access == 'FullTableScan' ? quantity(string(self.workload.slob.scanTableSize)) : quantity(string(self.workload.slob.scale))).asApproximateFloat() * double(self.workload.slob.schemas) <= 11811160064.0",message="Oracle Free and Express hold at most 12 GB of user data (ORA-12954): keep workload.slob.schemas x scale, or scanTableSize, at or below 11Gi"
// +kubebuilder:validation:XValidation:rule="!has(self.workload.slob) || !(has(self.storage.trident) || has(self.storage.storageClass) || has(self.storage.embedded)) || quantity(string(has(self.storage.trident) ? self.storage.trident.size : has(self.storage.storageClass) ? self.storage.storageClass.size : self.storage.embedded.size)).asApproximateFloat() * 9.0 >= 10.0 * (self.workload.slob.access == 'FullTableScan' ? quantity(string(self.workload.slob.scanTableSize)) : quantity(string(self.workload.slob.scale))).asApproximateFloat() * double(self.workload.slob.schemas)",message="what workload.slob reads (schemas x scale, or x scanTableSize for FullTableScan) takes more than 90 % of the storage, and the file system needs the rest: raise storage.storageClass.size, storage.trident.size or storage.embedded.size, or make workload.slob.scale or scanTableSize smaller"
// +kubebuilder:validation:XValidation:rule="!has(self.workload.calibrate) || has(self.database) || !(has(self.storage.trident) || has(self.storage.storageClass) || has(self.storage.embedded)) || quantity(string(has(self.storage.trident) ? self.storage.trident.size : has(self.storage.storageClass) ? self.storage.storageClass.size : self.storage.embedded.size)).asApproximateFloat() * 9.0 >= 10.0 * quantity(string(self.workload.calibrate.nativeFiles.size)).asApproximateFloat() * double(self.workload.calibrate.nativeFiles.count)",message="the files of workload.calibrate (nativeFiles.count x size) take more than 90 % of the storage, and the file system needs the rest: raise storage.storageClass.size, storage.trident.size or storage.embedded.size, or make workload.calibrate.nativeFiles.size smaller"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.oranfstab) || self.protocol.oranfstab == 'Enabled' || has(self.database)",message="protocol.oranfstab is about Oracle's Direct NFS: leave it out, or give spec.database"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol.oranfstab) || self.protocol.oranfstab == 'Enabled' || ((!has(self.storage.export) || size(self.storage.export.servers) == 1 || (has(self.protocol.paths) && self.protocol.paths.select != 'All')) && (!has(self.storage.embedded) || !has(self.storage.embedded.paths) || self.storage.embedded.paths == 1) && (!(has(self.storage.claim) || has(self.storage.trident) || has(self.storage.storageClass)) || !has(self.protocol.paths) || self.protocol.paths.select == 'All'))",message="without an oranfstab Oracle's Direct NFS uses the one address of the mount: give one server in storage.export.servers or choose one with protocol.paths.select, set storage.embedded.paths to 1, or leave out protocol.paths of a claim or a Trident volume"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.database.external) || !has(self.database.external.role) || self.database.external.role == 'SYSDBA' || !has(self.workload.calibrate)",message="CALIBRATE_IO needs SYSDBA: set database.external.role to SYSDBA, or use workload.slob"
// +kubebuilder:validation:XValidation:rule="!has(self.workload.slob) || !has(self.workload.slob.workLoop) || has(self.database)",message="workload.slob.workLoop counts statements in a database: give spec.database, or leave workLoop out, and run.durationSeconds ends the load"
// +kubebuilder:validation:XValidation:rule="!has(self.pods) || !has(self.pods.hostNetwork) || self.pods.hostNetwork == 'Disabled' || !has(self.storage.embedded)",message="storage.embedded admits the pods of the benchmark only, and traffic of the host network is the node's: leave out pods.hostNetwork"
// +kubebuilder:validation:XValidation:rule="has(self.database) || !has(self.workload.slob) || self.workload.slob.awr == 'Disabled'",message="workload.slob.awr takes snapshots of a database: give spec.database, or leave awr out"
// +kubebuilder:validation:XValidation:rule="!has(self.run.timeoutSeconds) || !has(self.workload.slob) || !has(self.workload.slob.users) || self.run.timeoutSeconds >= self.run.repetitions * size(self.workload.slob.users) * (self.run.baselineSeconds + self.run.warmupSeconds + self.run.durationSeconds + self.run.cooldownSeconds)",message="run.timeoutSeconds is shorter than the steps of workload.slob.users together, which each repetition goes through: raise it, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.expect) || !has(self.expect.minCapacity) || has(self.workload.raw) && has(self.workload.raw.capacity) || has(self.workload.slob) && has(self.workload.slob.capacity)",message="expect.minCapacity needs a capacity to compare with: give workload.raw.capacity or workload.slob.capacity, or use expect.minIOPS"
// +kubebuilder:validation:XValidation:rule="!(has(self.workload.raw) && has(self.workload.raw.capacity) || has(self.workload.slob) && has(self.workload.slob.capacity)) || self.run.durationSeconds <= 3600 && self.run.repetitions <= 20",message="a level of a search for capacity lasts 3600 s at most, and there are 20 searches at most: lower run.durationSeconds or run.repetitions"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(self.workload.slob) || !has(self.workload.slob.capacity) || self.workload.slob.access != 'FullTableScan'",message="workload.slob.capacity counts statements of a database, and a FullTableScan takes seconds for each: use access RandomRead, or leave out spec.database"
type NFSBenchmarkSpec struct {
	// storage is where the data lives.
	// +required
	Storage Storage `json:"storage"`
	// protocol is how the data is reached.
	// +optional
	// +default={"version": "NFSv3", "client": "DirectNFS"}
	Protocol bench.Protocol `json:"protocol,omitempty"`
	// workload is the load; exactly one kind.
	// +required
	Workload bench.Workload `json:"workload"`
	// database is the Oracle database that runs the load. Without it, the
	// native engine makes the same I/O.
	// +optional
	Database *Database `json:"database,omitempty"`
	// clients is the number of pods that generate the load, spread over nodes
	// and started together.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Clients int32 `json:"clients,omitempty"`
	// run is how long each part lasts, and how often it is repeated.
	// +optional
	// +default={}
	Run bench.Run `json:"run,omitempty"`
	// expect holds the thresholds that decide the verdict. Without it the
	// verdict is NotEvaluated.
	// +optional
	Expect *bench.Expect `json:"expect,omitempty"`
	// pods says where the load-generating pods run and what they may use.
	// +optional
	Pods *Pods `json:"pods,omitempty"`
	// cleanup defines whether the objects that the run created are kept.
	// +optional
	// +default={}
	Cleanup Cleanup `json:"cleanup,omitempty"`
	// ttlSecondsAfterFinished removes what the run left (jobs, pods, the
	// embedded server; never this object and its result) so long after its
	// end. Without it they are removed as cleanup says, at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// suspend holds the run back. Set on one that is under way, it stops the
	// load, keeps what was measured so far as a partial result, and ends the
	// run as Cancelled.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}
