package v1alpha1

// The types of conditions.
const (
	// ConditionReady is True when the run succeeded and its results
	// are in the status (kstatus: Current). Its message is that of the object;
	// the other conditions have their reasons.
	ConditionReady = "Ready"
	// ConditionReconciling is True while there is work to do (kstatus:
	// InProgress), False while the object is suspended, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the run has failed for good (kstatus:
	// Failed), and absent otherwise.
	ConditionStalled = "Stalled"
	// ConditionStorageProvisioned is True when the storage can be used.
	ConditionStorageProvisioned = "StorageProvisioned"
	// ConditionPreflightPassed is True when the storage was asked before the run
	// and nothing stood against it; the reason of False is the first check
	// that failed. It is absent where there is no array to ask.
	ConditionPreflightPassed = "PreflightPassed"
	// ConditionDatabaseReady is True when the database of the run takes
	// connections and is configured as declared; it is absent without one.
	ConditionDatabaseReady = "DatabaseReady"
	// ConditionProtocolVerified is True when the declared protocol was seen
	// to carry the load, False when another did. It is absent until something
	// was measured.
	ConditionProtocolVerified = "ProtocolVerified"
	// ConditionResultsCollected is True when all clients' results are kept,
	// False when a part is. It is absent without a result.
	ConditionResultsCollected = "ResultsCollected"
	// ConditionCleanedUp is True when everything that the run created, but
	// its result, is gone; False names what is left.
	ConditionCleanedUp = "CleanedUp"
	// ConditionSucceeded is Unknown while the run is under way, True when it
	// ran to its end, False when it did not.
	ConditionSucceeded = "Succeeded"
	// ConditionMatrixValid is True when every cell of a suite is a valid
	// benchmark, and its repetitions suffice for what it claims.
	ConditionMatrixValid = "MatrixValid"
	// ConditionWorkflowsAvailable is True when Argo Workflows can run a suite.
	ConditionWorkflowsAvailable = "WorkflowsAvailable"
)

// The reasons of conditions; events use the same.
const (
	ReasonPending         = "Pending"
	ReasonSuspended       = "Suspended"
	ReasonQueued          = "Queued"
	ReasonProvisioning    = "Provisioning"
	ReasonProvisioned     = "Provisioned"
	ReasonPreparing       = "Preparing"
	ReasonRunning         = "Running"
	ReasonCollecting      = "Collecting"
	ReasonCompleted       = "Completed"
	ReasonRetrying        = "Retrying"
	ReasonNotObserved     = "NotObserved"
	ReasonVerified        = "Verified"
	ReasonMismatch        = "Mismatch"
	ReasonCollected       = "Collected"
	ReasonCleaningUp      = "CleaningUp"
	ReasonCleanedUp       = "CleanedUp"
	ReasonRetained        = "Retained"
	ReasonLeftBehind      = "LeftBehind"
	ReasonInvalidSpec     = "InvalidSpec"
	ReasonClaimNotFound   = "ClaimNotFound"
	ReasonClaimNotBound   = "ClaimNotBound"
	ReasonClaimInUse      = "ClaimInUse" // by another pod, and a database needs it alone
	ReasonImagePullFailed = "ImagePullFailed"
	ReasonUnschedulable   = "Unschedulable"
	ReasonMountFailed     = "MountFailed"
	ReasonContainerFailed = "ContainerFailed"
	ReasonPodRefused      = "PodRefused"
	ReasonPodLost         = "PodLost"
	ReasonTargetTaken     = "TargetTaken"
	ReasonHoldEnded       = "HoldEnded" // the run had its target for as long as the policy allows
	ReasonForbidden       = "Forbidden"
	ReasonNameTaken       = "NameTaken"
	ReasonPlanChanged     = "PlanChanged"   // somebody replaced the plan of the run, or it is lost
	ReasonOtherRelease    = "OtherRelease"  // a newer operator wrote a file that this one does not read
	ReasonPolicyDenied    = "PolicyDenied"  // the policy of the cluster does not allow it
	ReasonPolicyInvalid   = "PolicyInvalid" // the policy cannot be read
	ReasonSecretNotFound  = "SecretNotFound"
	ReasonSecretDenied    = "SecretDenied" // its owner does not allow benchmarks to use it
	// Trident, in the order in which its volume is made.
	ReasonTridentMissing     = "TridentMissing"     // its CRDs, or it does not run in that namespace
	ReasonTridentBusy        = "TridentBusy"        // it works on another backend, or starts
	ReasonBackendFailed      = "BackendFailed"      // TridentBackendConfig: lastOperationStatus Failed
	ReasonClassNotFound      = "ClassNotFound"      // StorageClass absent
	ReasonClassNotTrident    = "ClassNotTrident"    // another provisioner
	ReasonDriverRefused      = "DriverRefused"      // ontap-nas-economy, SAN
	ReasonProvisioningFailed = "ProvisioningFailed" // the claim's own events
	// The survey of the array.
	ReasonNoPath    = "NoPath" // nothing answers to protocol.paths.select
	ReasonSurveying = "Surveying"
	ReasonMoving    = "Moving"
	ReasonPassed    = "Passed"
	// The database. Others are the codes of failures in a result, as they are.
	ReasonDatabaseStarting = "DatabaseStarting"
	ReasonDatabaseReady    = "DatabaseReady"
	// Suites.
	ReasonMatrixValid     = "MatrixValid"
	ReasonArgoMissing     = "ArgoMissing" // its CRDs are not installed
	ReasonArgoSilent      = "ArgoSilent"  // nobody acts on the workflow
	ReasonArgoFound       = "ArgoFound"
	ReasonScheduled       = "Scheduled"
	ReasonBenchmarkFailed = "BenchmarkFailed" // some benchmark did not succeed
	ReasonWorkflowFailed  = "WorkflowFailed"  // Argo gave the run up
	ReasonWorkflowMissing = "WorkflowMissing" // somebody deleted it while it ran
)

// IsFinished reports whether the run is over, one way or another.
func (p Phase) IsFinished() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCancelled
}
