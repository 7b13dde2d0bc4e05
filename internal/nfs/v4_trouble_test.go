package nfs

import (
	"errors"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

func TestAnIOThatWaitsForARecoverySaysWhatKeepsIt(t *testing.T) {
	s := &serverV4{}
	if err := s.notReady(); !errors.Is(err, stream.ErrNotReady) || statusOf(err) != v4.OK {
		t.Error(err)
	}
	trouble := error(v4.ErrGrace)
	s.trouble.Store(&trouble)
	if err := s.notReady(); !errors.Is(err, stream.ErrNotReady) || statusOf(err) != v4.ErrGrace {
		t.Error(err)
	}
}
