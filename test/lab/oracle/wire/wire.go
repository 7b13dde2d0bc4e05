// Package wire is what the stand-in for Oracle and its driver say to each other:
// gob values over TCP, one request at a time, and cancellations between. It is
// not Oracle Net and does not try to be.
package wire

import (
	"encoding/gob"
	"fmt"
	"io"
	"time"
)

// The kinds of requests.
const (
	Login  = "Login" // the first one of a connection
	Query  = "Query"
	Exec   = "Exec"
	Cancel = "Cancel" // the statement under way; has no answer of its own
)

// Request is what the client sends.
type Request struct {
	Kind                          string
	User, Password, Role, Service string // Login
	Program                       string // Login: V$SESSION.PROGRAM
	SQL                           string // Query, Exec
	Args                          []Arg
}

// Arg is one bind variable.
type Arg struct {
	Name  string // without the colon; empty = by position
	Out   bool
	Value any // one of int64, float64, string, []byte, bool, time.Time, Null
}

// Response answers each request but Cancel.
type Response struct {
	Columns []string
	Rows    [][]any
	Out     map[int]any // by position in Args, from 0
	Failure *Failure
}

// Failure is an Oracle error.
type Failure struct {
	Code    int
	Message string // without the number
}

// Error formats the failure as Oracle clients do.
func (f *Failure) Error() string { return fmt.Sprintf("ORA-%05d: %s", f.Code, f.Message) }

// Null stands for NULL: gob has no nil inside a list.
type Null struct{}

// Codec reads and writes frames. Reading and writing may happen at the same
// time, each by one goroutine.
type Codec struct {
	enc *gob.Encoder
	dec *gob.Decoder
}

// NewCodec prepares a connection.
func NewCodec(rw io.ReadWriter) *Codec {
	gob.Register(Null{})
	gob.Register(time.Time{})
	return &Codec{enc: gob.NewEncoder(rw), dec: gob.NewDecoder(rw)}
}

// Send writes a frame: a pointer to a Request or a Response.
func (c *Codec) Send(frame any) error { return c.enc.Encode(frame) }

// Receive reads a frame into a pointer to a Request or a Response.
func (c *Codec) Receive(frame any) error { return c.dec.Decode(frame) }

// Value makes a value that can be sent of one that Go programs have.
func Value(v any) any {
	switch v := v.(type) {
	case nil:
		return Null{}
	case int:
		return int64(v)
	}
	return v
}
