package growth

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"
)

// calls are requests to the API server by verb and resource.
type calls map[string]int

func (c calls) sum() int {
	n := 0
	for _, v := range c {
		n += v
	}
	return n
}

// auditEvent is what matters of a line of the API server's audit log.
type auditEvent struct {
	Verb      string `json:"verb"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// auditLog reads what was added to an audit log since it was read last.
type auditLog struct {
	file   string
	offset int64
}

// read counts the new requests. Refused ones are counted too: they cost as much,
// and are listed by their code.
func (a *auditLog) read(t *testing.T) calls {
	t.Helper()
	f, err := os.Open(a.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(a.offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1] // the last line may be half written
	a.offset += int64(len(raw))
	out := calls{}
	for line := range bytes.Lines(raw) {
		e := auditEvent{}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %q of the audit log: %v", line, err)
		}
		if e.ObjectRef == nil {
			continue // discovery
		}
		key := e.Verb + " " + e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			key += "/" + e.ObjectRef.Subresource
		}
		switch e.ResponseStatus.Code {
		case 404:
			key += " (not found)"
		case 409:
			key += " (conflict)"
		}
		out[key]++
	}
	return out
}
