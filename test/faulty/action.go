package faulty

import "github.com/nfsbench/nfsbench/internal/nfs/v3"

// Action is what happens to a call.
type Action int

// Actions of a Hook.
const (
	Answer     Action = iota // as a good server would
	Drop                     // never answer, nor execute
	Disconnect               // close the connection without executing the call
	Lose                     // execute the call, then close the connection without answer
	Truncate                 // answer with half a record, then close
	Garbage                  // answer with bytes that are no RPC
	Oversize                 // announce a record of 2 GiB
	TryLater                 // answer with NFS3ERR_JUKEBOX
	NoSpace                  // answer with NFS3ERR_NOSPC
	Deny                     // answer with NFS3ERR_ACCES

	failing // and above it: the status
)

// Fail is the action of not executing a call and answering it with status.
func Fail(status v3.Status) Action { return failing + Action(status) }

// status returns what a call is to be answered with instead of being executed.
func (a Action) status() (v3.Status, bool) {
	switch a {
	case TryLater:
		return v3.ErrJukebox, true
	case NoSpace:
		return v3.ErrNoSpc, true
	case Deny:
		return v3.ErrAcces, true
	case Answer, Drop, Disconnect, Lose, Truncate, Garbage, Oversize, failing:
		return v3.OK, false
	}
	return v3.Status(a - failing), true
}

// Call is what a Hook sees.
type Call struct {
	Program, Procedure, XID uint32
	Address                 string // the listening address it came to
	Conn                    int    // which connection it came on, counted from 1
}

// IsRead reports whether the call is a READ.
func (c Call) IsRead() bool { return c.Program == v3.Program && c.Procedure == v3.ProcRead }

// IsWrite reports whether the call is a WRITE.
func (c Call) IsWrite() bool { return c.Program == v3.Program && c.Procedure == v3.ProcWrite }
