package cli

import (
	"bytes"
	"io"

	"github.com/nfsbench/nfsbench/internal/human"
)

// screen is an output that people read on a terminal. Results, records, objects and errors have texts of strangers in
// them: each character that could act on the terminal becomes a question mark, also in JSON, which does not escape all
// of them. It keeps no state, so it is as safe for concurrent use as the writer that it has.
type screen struct{ w io.Writer }

// Write takes whole characters.
func (s screen) Write(p []byte) (int, error) {
	if _, err := s.w.Write(bytes.Map(human.Printable, p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// below is the writer of a screen, for what writes sequences of our own and cleans the texts between them.
func below(w io.Writer) io.Writer {
	if s, ok := w.(screen); ok {
		return s.w
	}
	return w
}
