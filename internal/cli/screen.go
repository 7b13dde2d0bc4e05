package cli

import (
	"bytes"
	"io"

	"github.com/nfsbench/nfsbench/internal/human"
)

// screen writes to an output that may be a terminal, and replaces each control character by a question mark. Results,
// records, objects and errors contain text from untrusted sources, and JSON does not escape all control characters. A
// screen has no state, so it is as safe for concurrent use as w.
type screen struct{ w io.Writer }

// Write expects whole characters.
func (s screen) Write(p []byte) (int, error) {
	if _, err := s.w.Write(bytes.Map(human.Printable, p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// below returns the writer under a screen, and any other writer as it is. Its callers write escape sequences, and
// clean the text between them.
func below(w io.Writer) io.Writer {
	if s, ok := w.(screen); ok {
		return s.w
	}
	return w
}
