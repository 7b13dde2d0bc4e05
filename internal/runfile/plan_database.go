package runfile

import "github.com/nfsbench/nfsbench/api/bench"

// Database says how the Oracle database of a run is reached. It holds no
// password: the loader gets the name of a file.
type Database struct {
	Kind string `json:"kind" jsonschema:"enum=Container,enum=External"`
	// AdminConnect is an EZConnect string or a connect descriptor of the root
	// container, for views, parameters and CALIBRATE_IO, as User with Role.
	AdminConnect string `json:"adminConnect"`
	// Connects are where the sessions of the load go, in turns: the pluggable
	// database, or one service for each RAC instance.
	Connects []string `json:"connects" jsonschema:"minItems=1,maxItems=64"`
	User     string   `json:"user"`
	Role     string   `json:"role,omitempty" jsonschema:"enum=SYSDBA"` // SYSDBA, or empty
	// DirectNFS declares the NFS client: Oracle's own, or the kernel's.
	DirectNFS bool `json:"directNFS"`
	// Parameters are init parameters to set and to read back.
	Parameters map[string]string `json:"parameters,omitempty"`
	// RedoLogBytes is the size of each of four online redo logs, and UndoBytes the least
	// size of the undo tablespace of the load; 0 = as they are. Container only.
	RedoLogBytes int64 `json:"redoLogBytes,omitempty" jsonschema:"minimum=67108864,maximum=68719476736"`
	UndoBytes    int64 `json:"undoBytes,omitempty" jsonschema:"minimum=67108864,maximum=68719476736"`
	// TablespaceBytes is the size of a tablespace that a calibration reads beside the database's own files; the
	// run makes and drops it.
	TablespaceBytes int64 `json:"tablespaceBytes,omitempty" jsonschema:"minimum=1,maximum=17592186044416"`
	// RedoDirectory is where the host of the database mounts RedoExport, an export of the
	// engine's server for the online redo logs; empty = they are with the data. Container only.
	RedoDirectory string `json:"redoDirectory,omitempty"`
	RedoExport    string `json:"redoExport,omitempty"`
	// RestartBeforeRun restarts the instance, so that its views start at zero
	// and the oranfstab is read again; Container only.
	RestartBeforeRun bool `json:"restartBeforeRun,omitempty"`
	// DataDirectory is where the host of the database sees the volume; External:
	// empty where that is not known.
	DataDirectory string `json:"dataDirectory,omitempty" jsonschema:"pattern=^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$"`
	// TablespaceDirectory is the directory for the datafile of a new tablespace; empty = that of
	// SYSTEM. External only.
	TablespaceDirectory string `json:"tablespaceDirectory,omitempty" jsonschema:"pattern=^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$"`
	// AllowRedo loads SLOB tables even where FORCE LOGGING makes redo of them.
	// Without it, loading such a database is refused; Container databases are ours.
	AllowRedo             bool   `json:"allowRedo,omitempty"`
	StartupTimeoutSeconds int32  `json:"startupTimeoutSeconds,omitempty"`
	SID                   string `json:"sid,omitempty"`
	// CPUMillis are the thousandths of a core that the instance can use at most: the limit of its
	// container, and two cores with Oracle Free and Express. 0 = no such limit.
	CPUMillis int64 `json:"cpuMillis,omitempty"`
}

// The kinds of databases.
const (
	DatabaseContainer = "Container"
	DatabaseExternal  = "External"
)

// StartupSeconds returns the time that a database may take to start, before the timeout of the run begins; 0 without
// a database.
func (p Plan) StartupSeconds() int64 { return int64(bench.OrZero(p.Database).StartupTimeoutSeconds) }
