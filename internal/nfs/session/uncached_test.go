package session

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// A server that executed a READ whose reply was lost has no reply for the retransmission.
// RFC 8881 section 2.10.6.1.3 puts the error into the operation behind SEQUENCE.
func TestARequestWhoseReplyWasNotCachedIsMadeAgainWithTheNextSequenceID(t *testing.T) {
	for _, op := range []v4.Op{v4.OpSequence, v4.OpPutFH} {
		table := NewTable(1)
		table.Set([]v4.SessionID{{1}}, 1)
		_, mark, err := table.Append(nil, 0, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		if next := table.Replied(0, mark, op, v4.ErrRetryUncachedRep); next != stream.Repeat {
			t.Errorf("%v: the request is followed by %v, want a new one", op, next)
		}
		if _, _, err := table.Append(nil, 0, 2, false); err != nil || table.set.Load().slots[0].seq != 2 {
			t.Errorf("%v: the new request has the sequence ID %d, %v", op, table.set.Load().slots[0].seq, err)
		}
		table.Clear()
		if next := table.Replied(0, mark, op, v4.ErrRetryUncachedRep); next != stream.Repeat {
			t.Errorf("%v: in a session that is gone, it is followed by %v", op, next)
		}
	}
}
