package rpc

import (
	"errors"
	"fmt"
)

// Errors of malformed traffic. A Conn wraps them in a *ProtocolError.
var (
	// ErrNotCall reports a message that should be a call but is not.
	ErrNotCall = errors.New("rpc: message is not a call")
	// ErrNotReply reports a message that should be a reply but is not.
	ErrNotReply = errors.New("rpc: message is not a reply")
	// ErrRecordTooLarge says that a record is longer than the reader's cap.
	ErrRecordTooLarge = errors.New("rpc: record larger than allowed")
	// ErrRecordShort says that a record ended in the middle of an item.
	ErrRecordShort = errors.New("rpc: record ends too early")
	// ErrUnknownXID says that a reply belongs to no call of this connection.
	ErrUnknownXID = errors.New("rpc: reply to a call that was never made")
	// ErrTooMuchData reports a reply with more bulk data than requested.
	ErrTooMuchData = errors.New("rpc: reply carries more data than were asked for")
	// ErrClosed says that the connection was closed from this side.
	ErrClosed = errors.New("rpc: connection closed")
)

// AcceptStatus is the outcome of an accepted call (RFC 5531 accept_stat).
type AcceptStatus uint32

// Outcomes of an accepted call.
const (
	AcceptSuccess         AcceptStatus = 0
	AcceptProgramUnavail  AcceptStatus = 1
	AcceptProgramMismatch AcceptStatus = 2
	AcceptProcUnavail     AcceptStatus = 3
	AcceptGarbageArgs     AcceptStatus = 4
	AcceptSystemErr       AcceptStatus = 5
)

// RejectStatus says why a call was denied (RFC 5531 reject_stat).
type RejectStatus uint32

// Reasons of a denied call.
const (
	RejectVersion RejectStatus = 0
	RejectAuth    RejectStatus = 1
)

// AuthStatus says why a credential was refused (RFC 5531 auth_stat).
type AuthStatus uint32

// Reasons of a refused credential.
const (
	AuthBadCred AuthStatus = 1
	AuthTooWeak AuthStatus = 5
)

// RefusedError says that the server answered, but did not execute the call.
type RefusedError struct {
	Denied    bool
	Accept    AcceptStatus
	Reject    RejectStatus
	AuthWhy   AuthStatus
	Low, High uint32
}

// Error describes why the call was not executed.
func (e *RefusedError) Error() string {
	switch {
	case !e.Denied:
	case e.Reject == RejectVersion:
		return fmt.Sprintf("rpc: the server speaks only RPC versions %d to %d", e.Low, e.High)
	case e.AuthWhy == AuthTooWeak:
		return "rpc: the server refuses the credential as too weak (AUTH_TOOWEAK)"
	default:
		return fmt.Sprintf("rpc: the server refuses the credential (auth_stat %d)", e.AuthWhy)
	}
	switch e.Accept {
	case AcceptProgramUnavail:
		return "rpc: the server does not offer this program"
	case AcceptProgramMismatch:
		return fmt.Sprintf("rpc: the server offers only versions %d to %d of this program", e.Low, e.High)
	case AcceptProcUnavail:
		return "rpc: the server does not offer this procedure"
	case AcceptGarbageArgs:
		return "rpc: the server could not decode the arguments"
	case AcceptSystemErr:
		return "rpc: the server reports a system error"
	case AcceptSuccess:
	}
	return fmt.Sprintf("rpc: the server answers with unknown status %d", e.Accept)
}

// IsAuthError reports whether the server refused the credential of the call.
func IsAuthError(err error) bool {
	var e *RefusedError
	return errors.As(err, &e) && e.Denied && e.Reject == RejectAuth
}

// IsVersionError reports whether the server does not offer this version of the program.
func IsVersionError(err error) bool {
	var e *RefusedError
	return errors.As(err, &e) && !e.Denied && e.Accept == AcceptProgramMismatch
}

// ProtocolError reports that the peer sent something that is not RPC. Unlike
// after a lost connection, retrying may not help.
type ProtocolError struct{ Err error }

// Error returns the reason.
func (e *ProtocolError) Error() string { return "protocol violation by the server: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ProtocolError) Unwrap() error { return e.Err }

// IsProtocolError reports whether err comes from malformed traffic.
func IsProtocolError(err error) bool {
	var e *ProtocolError
	return errors.As(err, &e)
}

// LostError says that the connection ended while the call was outstanding, so
// that it is unknown whether the server executed it.
type LostError struct{ Err error }

// Error returns the reason.
func (e *LostError) Error() string { return "connection lost: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return e.Err }

// IsLost reports whether err says that the connection ended during the call.
func IsLost(err error) bool {
	var e *LostError
	return errors.As(err, &e)
}
