package report

import (
	"io"

	"github.com/nfsbench/nfsbench/internal/compare"
)

// CompareText writes the comparisons of a table. It returns the first error of w.
func CompareText(w io.Writer, t compare.Table, o Options) error { return nil }
