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

	failing // and above it: the status
)

// Actions of not executing a call and answering it with a status.
const (
	TryLater = failing + Action(v3.ErrJukebox)
	NoSpace  = failing + Action(v3.ErrNoSpc)
	Deny     = failing + Action(v3.ErrAcces)
)

// Fail is the action of not executing a call and answering it with status.
func Fail(status v3.Status) Action { return failing + Action(status) }

// status returns what a call is to be answered with instead of being executed.
func (a Action) status() (status v3.Status, fails bool) {
	if a <= failing {
		return v3.OK, false
	}
	return v3.Status(a - failing), true
}

// On is a Hook that does act to the calls of a procedure of NFSv3 for which when is true. A nil
// when is true for all.
func On(procedure uint32, act Action, when func(Call) bool) func(Call) Action {
	return func(c Call) Action {
		if c.Program == v3.Program && c.Procedure == procedure && (when == nil || when(c)) {
			return act
		}
		return Answer
	}
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
