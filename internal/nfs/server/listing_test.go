package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

func TestListingsAreCutWhereTheClientSays(t *testing.T) {
	s := start(t)
	c := mounted(t, s.Addrs()[0])
	want := []string{".", ".."}
	for i := range 50 {
		name := fmt.Sprintf("name-%02d", i)
		c.create(c.root, name)
		want = append(want, name)
	}
	for _, plus := range []bool{false, true} {
		for _, limit := range []uint32{600, 4096, 1 << 20} {
			if got := c.listAll(plus, limit); !slices.Equal(got, want) {
				t.Errorf("plus %v, limit %d: %v", plus, limit, got)
			}
		}
		if res := c.list(v3.ReaddirArgs{Handle: c.root, MaxCount: 100}, plus); res.Status != v3.ErrTooSmall {
			t.Errorf("plus %v, no room for one entry: %v", plus, res.Status)
		}
		if res := c.list(v3.ReaddirArgs{Handle: c.root, MaxCount: 4096, CookieVerifier: [8]byte{1}}, plus); res.Status != v3.ErrBadCookie {
			t.Errorf("plus %v, a verifier that is not ours: %v", plus, res.Status)
		}
		if res := c.list(v3.ReaddirArgs{Handle: c.root, MaxCount: 4096, Cookie: 1<<64 - 1}, plus); res.Status != v3.ErrBadCookie {
			t.Errorf("plus %v, a cookie that is none: %v", plus, res.Status)
		}
	}
}

func (c *client) list(a v3.ReaddirArgs, plus bool) v3.ReaddirRes {
	c.tb.Helper()
	procedure := uint32(v3.ProcReaddir)
	if a.Plus = plus; plus {
		procedure = v3.ProcReaddirplus
	}
	reply, d := c.call(c.header(v3.Program, v3.Version, procedure), &a)
	size := d.Len()
	res := v3.ReaddirRes{Plus: plus}
	xdr.Decode(&d, &res)
	if reply.Err() != nil || d.Err() != nil || d.Len() != 0 {
		c.tb.Fatalf("list: %v, %v, %d bytes left over", reply.Err(), d.Err(), d.Len())
	}
	if res.Status == v3.OK && size > int(a.MaxCount) {
		c.tb.Errorf("%d bytes of listing, %d allowed", size, a.MaxCount)
	}
	return res
}

func (c *client) listAll(plus bool, limit uint32) []string {
	c.tb.Helper()
	var names []string
	a := v3.ReaddirArgs{Handle: c.root, DirCount: limit, MaxCount: limit}
	for {
		res := c.list(a, plus)
		if res.Status != v3.OK || len(res.Entries) == 0 && !res.EOF {
			c.tb.Fatalf("list: %v, %d entries", res.Status, len(res.Entries))
		}
		for _, e := range res.Entries {
			names, a.Cookie = append(names, e.Name), e.Cookie
			if plus && strings.HasPrefix(e.Name, "name") && (!e.HandlePresent || e.FileID != e.Attr.Attr.FileID) {
				c.tb.Errorf("%s comes without its attributes: %+v", e.Name, e)
			}
		}
		if res.EOF {
			slices.Sort(names)
			return names
		}
	}
}
