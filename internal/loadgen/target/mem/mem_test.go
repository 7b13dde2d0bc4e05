package mem_test

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/mem"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/targettest"
)

func TestConformance(t *testing.T) {
	targettest.Run(t, func(testing.TB) target.Target { return &mem.Target{} })
}
