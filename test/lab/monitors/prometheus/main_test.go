package prometheus_test

import (
	"os"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/waiting"
)

func TestMain(m *testing.M) { os.Exit(waiting.Run(m)) }
