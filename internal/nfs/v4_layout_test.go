package nfs

import (
	"fmt"
	"net/netip"
	"testing"

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
