package runfile

import (
	"fmt"
	"time"
)

// The files that loader and collector share in the run directory of a pod.
const (
	EventsFile  = "events.jsonl" // loader: one Event a line, appended
	LoadFile    = "load.json"    // loader: Load, replaced atomically, last time when it ends
	ReleaseFile = "release"      // collector: appears when all clients may start
)

// Event is one line of progress, for people's terminals, for logs and for the
// collector.
type Event struct {
	Time       time.Time `json:"time"`
	Span       string    `json:"span"`
	Repetition int32     `json:"repetition,omitempty"`
	Percent    int32     `json:"percent"`              // of the whole run, fill included
	ETASeconds *int64    `json:"etaSeconds,omitempty"` // absent while it cannot be known
	// BytesPerSecond and OpsPerSecond are those of the last second.
	BytesPerSecond int64  `json:"bytesPerSecond,omitempty"`
	OpsPerSecond   int64  `json:"opsPerSecond,omitempty"`
	Message        string `json:"message,omitempty"`
}

// Progress is what the collector publishes of one client while it runs.
type Progress struct {
	Event
	Ready  bool `json:"ready,omitempty"`  // filled and waiting for the other clients
	Final  bool `json:"final,omitempty"`  // the result beside it is the last one
	Failed bool `json:"failed,omitempty"` // the load ended with a failure
}

// The keys of the one ConfigMap that carries a run's progress and results.
const (
	// KeyRelease appears when all clients are ready.
	KeyRelease = "release"
	// KeyProgressSuffix and KeyResultSuffix follow "client-<index>".
	KeyProgressSuffix = ".progress.json"
	KeyResultSuffix   = ".result.json.gz" // in binaryData: a Result with one client, gzip
)

// ProgressKey is the ConfigMap key of one client's Progress.
func ProgressKey(index int32) string { return fmt.Sprintf("client-%d%s", index, KeyProgressSuffix) }

// ResultKey is the ConfigMap key of one client's result.
func ResultKey(index int32) string { return fmt.Sprintf("client-%d%s", index, KeyResultSuffix) }
