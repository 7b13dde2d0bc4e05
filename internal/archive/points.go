package archive

import (
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Points are the numbers of a result that can be compared: see judge.Points.
func Points(r runfile.Result) [][]runfile.SuitePoint { return judge.Points(r) }
