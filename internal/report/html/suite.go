package html

import (
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func suitePage(run runfile.SuiteRun, t compare.Table, g *compare.Regression, o Options) *page {
	return &page{}
}
func comparisonPage(a, b Side, t compare.Table, o Options) *page { return &page{} }
