package ontap_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// timed reports its time as the counter: a counter shows when it was read.
type timed struct{ scripted }

func (*timed) Node(string) ontap.NodeCounters {
	return ontap.NodeCounters{BusyMicros: 0, BaseMicros: uint64(time.Now().UnixMicro())} //nolint:gosec // it is after 1970
}

func (*timed) Move(context.Context, string, string) error { return nil }

// nobody is a listener without connections. Unlike a socket it does not stop the clock of a synctest bubble.
type nobody struct {
	once   sync.Once
	closed chan struct{}
}

func (*nobody) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

func (n *nobody) Accept() (net.Conn, error) {
	<-n.closed
	return nil, net.ErrClosed
}

func (n *nobody) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// The test asks more seldom than the grid steps: readings that were taken when
// somebody asked, and not on the grid, would be late by any part of a step.
func TestOnARealClockCountersAreOfTheTimeThatTheyClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const grid, every, asks = 400 * time.Millisecond, 520 * time.Millisecond, 12
		s := ontap.New(ontap.Options{Truth: &timed{}, Grid: grid, Model: example(ontap.Admin(user, password))})
		defer s.Close()
		if _, _, err := s.StartTLS(&nobody{closed: make(chan struct{})}); err != nil {
			t.Fatal(err)
		}
		exact := true
		for range asks {
			time.Sleep(every) // of the bubble
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/cluster/nodes?fields=statistics", nil)
			r.SetBasicAuth(user, password)
			a := httptest.NewRecorder()
			s.Handler().ServeHTTP(a, r)
			var body struct{ Records []map[string]any }
			if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil || len(body.Records) == 0 {
				t.Fatalf("status %d, %v: %s", a.Code, err, a.Body)
			}
			stamp, err := time.Parse(time.RFC3339Nano, at(body.Records[0], "statistics.timestamp").(string))
			if err != nil {
				t.Fatal(err)
			}
			counted := time.UnixMicro(int64(at(body.Records[0], "statistics.processor_utilization_base").(float64)))
			if late := counted.Sub(stamp); !stamp.Equal(stamp.Truncate(grid)) || time.Since(stamp) > grid+grid/15 || late < 0 || late >= grid/15 {
				t.Errorf("asked %v after the step of the grid that it claims to be of, it was counted %v after it", time.Since(stamp), late)
			}
			exact = exact && counted.Equal(stamp)
		}
		if exact {
			t.Error("timestamps are more exact than those of ONTAP")
		}
	})
}
