package ontap

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// maxSeen bounds what a stand-in that serves for days remembers.
const maxSeen = 10_000

// Fault disturbs requests. What is set in it happens; faults are looked for in
// the order in which they were injected, and only the first that fits counts.
type Fault struct {
	Method string // empty = any
	// Path is a pattern of path.Match, such as /api/storage/volumes; one that
	// ends in /... takes everything below too. Empty = any path.
	Path  string
	Times int // how often; 0 = until Clear

	// Status answers with an error of that code (a string, a number, or nil for
	// a body that is none) and message.
	Status  int
	Code    any
	Message string
	Header  http.Header
	// Echo repeats the credentials of the request in the error, as a careless
	// server would.
	Echo bool

	Delay   time.Duration // before the answer, which is right
	Hang    bool          // no answer at all until the client goes away
	Reset   bool          // the connection is reset
	Cut     bool          // the answer ends in its middle
	Garbage bool          // 200 and a body that is no JSON
	// PageSize makes pages of that size.
	PageSize int
	// EmptyPage answers with no records and a next, once for each collection:
	// what ONTAP does when its return_timeout is over.
	EmptyPage bool
}

type fault struct {
	Fault
	left int
}

// Inject adds a fault.
func (s *Standin) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{f, f.Times})
}

// Clear ends all faults that were injected.
func (s *Standin) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// note writes a request down and returns the fault that it meets, or nil.
func (s *Standin) note(r Request) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == maxSeen {
		s.seen = slices.Delete(s.seen, 0, maxSeen/2)
	}
	s.seen = append(s.seen, r)
	i := slices.IndexFunc(s.faults, func(f *fault) bool { return f.meets(r) })
	if i < 0 {
		return nil
	}
	f := s.faults[i]
	if f.left--; f.Times > 0 && f.left == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return &fault{f.Fault, 0}
}

func (f *fault) meets(r Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	// The second page of a collection is not empty again.
	if f.EmptyPage && strings.Contains(r.Query, "start.") {
		return false
	}
	if top, ok := strings.CutSuffix(f.Path, "/..."); ok {
		return r.Path == top || strings.HasPrefix(r.Path, top+"/")
	}
	ok, err := path.Match(f.Path, r.Path)
	return f.Path == "" || ok && err == nil
}

// breaks plays the fault and tells whether that was all the answer there is.
func (f *fault) breaks(w http.ResponseWriter, r *http.Request, end <-chan struct{}) bool {
	switch {
	case f == nil:
		return false
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-end:
		}
		panic(http.ErrAbortHandler)
	case f.Reset:
		reset(w)
		return true
	case f.Cut:
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"records":[`))
		panic(http.ErrAbortHandler)
	case f.Garbage:
		_, _ = w.Write([]byte("<html>It works!</html>"))
		return true
	case f.Status != 0:
		f.fail(w, r)
		return true
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		case <-end:
		}
	}
	return false
}

func (f *fault) fail(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), f.Header)
	w.WriteHeader(f.Status)
	if f.Code == nil && f.Message == "" && !f.Echo {
		return
	}
	message := f.Message
	if f.Echo {
		user, password, _ := r.BasicAuth()
		message += " you sent " + r.Header.Get("Authorization") + " which is " + user + " and " + password
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "code": f.Code}})
}

// page is the page that is sent instead of p.
func (f *fault) page(p page) page {
	switch {
	case f != nil && f.EmptyPage:
		p.size = 0
	case f != nil && f.PageSize > 0:
		p.size = min(p.size, f.PageSize)
	}
	return p
}
