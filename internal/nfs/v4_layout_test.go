package nfs

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

func TestAddressesThatCannotBeDataServersAreRefused(t *testing.T) {
	local := func(address string) *layoutsV4 {
		ch := &channel{}
		ch.local.Store(&address)
		return &layoutsV4{mds: &serverV4{channels: []*channel{{}, ch}}}
	}
	for _, tc := range []struct {
		from, to string
		ok       bool
	}{
		{"127.0.0.1:700", "127.0.0.9", true},
		{"192.0.2.7:700", "127.0.0.9", false},
		{"192.0.2.7:700", "192.0.2.8", true},
		{"192.0.2.7:700", "169.254.169.254", false},
		{"169.254.0.1:700", "169.254.0.2", true},
		{"192.0.2.7:700", "255.255.255.255", false},
		{"[2001:db8::1]:700", "::1", false},
		{"[2001:db8::1]:700", "fe80::1", false},
		{"[2001:db8::1]:700", "2001:db8::2", true},
	} {
		ip := netip.MustParseAddr(tc.to)
		if err := local(tc.from).mayReach(ip); (err == nil) != tc.ok {
			t.Errorf("from %s to %s: %v", tc.from, tc.to, err)
		}
	}
}

func TestDataServersAreBounded(t *testing.T) {
	l := &layoutsV4{cfg: &Config{}, mds: &serverV4{}}
	for i := range maxDataServers {
		l.servers = append(l.servers, &dataServer{key: fmt.Sprint(i)})
	}
	if _, err := l.dataServer(t.Context(), []layout.NetAddr{{NetID: "tcp", Address: "192.0.2.1.8.1"}}); err == nil {
		t.Error("one more data server is taken")
	}
}

func TestASegmentOfAnotherLayoutTypeIsRefused(t *testing.T) {
	l := &layoutsV4{}
	if _, err := l.stripe(t.Context(), []v4.Segment{{Type: v4.LayoutFlexFiles}}); err == nil {
		t.Error("a segment for flexible files is taken for one for files")
	}
}

// TestDevicesOfLayoutsAreBounded: a server names another device each time.
func TestDevicesOfLayoutsAreBounded(t *testing.T) {
	l := &layoutsV4{devices: map[v4.DeviceID]*deviceV4{}}
	for i := range 10 * maxDevices {
		id := v4.DeviceID{byte(i), byte(i >> 8)}
		l.remember(id, &deviceV4{}, 0)
		if n := len(l.devices); n > maxDevices || l.devices[id] == nil {
			t.Fatalf("%d devices are remembered, the last one: %v", n, l.devices[id] != nil)
		}
	}
	if _, err := l.stripe(t.Context(), make([]v4.Segment, layout.MaxSegments+1)); err == nil {
		t.Error("a layout of too many segments asks for their devices")
	}
}

// TestRecallsThatWaitAreBounded: a data server that does not answer keeps a layout in use, while its server recalls it
// again and again.
func TestRecallsThatWaitAreBounded(t *testing.T) {
	f := &layoutV4{handle: []byte("f"), id: v4.StateID{Seq: 1}}
	l := &layoutsV4{mds: &serverV4{}, byFile: map[string]*layoutV4{"f": f}, life: t.Context()}
	l.mds.lease.Store(int64(time.Hour))
	f.all = l
	f.flight.Store(1)
	call := &v4.CBLayoutRecall{Type: v4.LayoutFiles, Extent: v4.LayoutOfFile, Handle: f.handle, StateID: v4.StateID{Seq: 2}}
	taken := 0
	for range 10 * maxRecalls {
		switch status := l.recall(call); status {
		case v4.OK:
			taken++
		case v4.ErrDelay:
		default:
			t.Fatal(status)
		}
	}
	if taken != maxRecalls {
		t.Errorf("%d recalls wait at the same time, not %d", taken, maxRecalls)
	}
	l.mu.Lock()
	f.id = v4.StateID{} // returned
	l.mu.Unlock()
	f.flight.Store(0)
	l.wg.Wait()
	if f.id = call.StateID; l.recalling != 0 {
		t.Errorf("%d recalls wait although all are answered", l.recalling)
	}
}

// watched counts the functions that still wait for its end.
type watched struct {
	context.Context
	waiting int
}

func (w *watched) Done() <-chan struct{} { return make(chan struct{}) } // of its own: the context package asks AfterFunc

func (w *watched) AfterFunc(func()) func() bool {
	w.waiting++
	return func() bool { w.waiting--; return true }
}

// TestABackgroundCallLeavesNothingBehind: each file makes one each second.
func TestABackgroundCallLeavesNothingBehind(t *testing.T) {
	life := &watched{Context: t.Context()}
	l := &layoutsV4{mds: &serverV4{}, life: life}
	_, end := l.within(time.Hour)
	during := life.waiting
	if end(); during != 1 || life.waiting != 0 {
		t.Errorf("%d functions wait during the call, %d after it", during, life.waiting)
	}
}
