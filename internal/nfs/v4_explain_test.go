package nfs

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

func TestEntriesThatNoPathLeadsToAreNotSearched(t *testing.T) {
	t.Parallel()
	dir := v4.Attrs{Mask: v4.Bits(v4.AttrType), Type: v4.TypeDirectory}
	for _, name := range []string{"", ".", "..", "a/b", "a\x00"} {
		e := v4.DirEntry{Name: name}
		e.AttrMask, e.AttrValues = dir.Values()
		if _, ok := directoryOf(&e, nil); ok {
			t.Errorf("%q is taken for a directory", name)
		}
	}
	e := v4.DirEntry{Name: "good"}
	e.AttrMask, e.AttrValues = dir.Values()
	if _, ok := directoryOf(&e, nil); !ok {
		t.Error("a directory is left out")
	}
	e.AttrValues = e.AttrValues[:2]
	if _, ok := directoryOf(&e, nil); ok {
		t.Error("attributes that end early are believed")
	}
}

func TestAPortAbove1023IsToldAsAReason(t *testing.T) {
	t.Parallel()
	cfg := &Config{Version: bench.NFSv41, Export: "/export"}
	high := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 40000}
	auth := &rpc.RefusedError{Denied: true, Reject: rpc.RejectAuth, AuthWhy: rpc.AuthTooWeak}
	for _, err := range []error{
		v4.ErrPerm, v4.ErrAccess, v4.ErrWrongSec, auth, &rpc.LostError{Err: io.EOF},
	} {
		for local, want := range map[*net.TCPAddr]bool{high: true, {IP: high.IP, Port: 700}: false} {
			q := inquiry{cfg: cfg, names: []string{"export"}, local: []net.Addr{local}, err: err}
			got := q.explained(t.Context()).Error()
			told := strings.Contains(got, "10.0.0.5:40000") && strings.Contains(got, "-nfs-rootonly") &&
				strings.Contains(got, "insecure in /etc/exports") && strings.Contains(got, "CAP_NET_BIND_SERVICE")
			if told != want {
				t.Errorf("%v from port %d: %s", err, local.Port, got)
			}
		}
	}
}

// TestAWrongPathIsToldInTwoSentences, the second of which has what to check, with the address that the server saw.
func TestAWrongPathIsToldInTwoSentences(t *testing.T) {
	t.Parallel()
	const check = `there is no directory "/exprt". NFSv4 paths begin at a root of their own (ONTAP: junction path; FlashBlade: / and the file system; ` +
		`Linux: below fsid=0; NFS-Ganesha: Pseudo), and servers hide closed exports: check the path, and that the export policy admits NFSv4 from 10.0.0.5`
	for port, want := range map[int]string{700: check, 40000: check + ", also from ports above 1023"} {
		q := inquiry{
			cfg: &Config{Version: bench.NFSv41}, names: []string{"exprt"}, local: []net.Addr{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: port}},
			err: v4.ErrNoEnt,
		}
		if explained, ok := errors.AsType[*ExplainedError](q.explained(t.Context())); !ok || explained.Says != want {
			t.Errorf("%+v, want %s", explained, want)
		}
	}
}

func TestAServerWithoutNFSv4IsNamed(t *testing.T) {
	t.Parallel()
	cfg := &Config{Version: bench.NFSv41, Export: "/export"}
	for part, err := range map[string]error{
		"only NFSv3;":                   &rpc.RefusedError{Accept: rpc.AcceptProgramMismatch, Low: 3, High: 3},
		"only NFSv2 to NFSv3;":          &rpc.RefusedError{Accept: rpc.AcceptProgramMismatch, Low: 2, High: 3},
		"does not speak NFSv4; enable":  &rpc.RefusedError{Accept: rpc.AcceptProgramUnavail},
		"nothing listens for NFSv4.1":   syscall.ECONNREFUSED,
		"ends the connection as soon a": &rpc.LostError{Err: io.EOF},
	} {
		q := inquiry{cfg: cfg, err: err}
		got := q.explained(t.Context()).Error()
		for _, p := range []string{part, "-v4.1 enabled", "FlashBlade", "vers4.1=y"} {
			if !strings.Contains(got, p) {
				t.Errorf("the explanation of %v lacks %q: %s", err, p, got)
			}
		}
	}
	for _, err := range []error{errors.New("what nobody knows"), v4.ErrIO, context.DeadlineExceeded} {
		if got := (&inquiry{cfg: cfg, err: err}).explained(t.Context()); got != err { //nolint:errorlint // it must stay as it is
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestFilesOfNobodyAreTold(t *testing.T) {
	t.Parallel()
	for owner, nobody := range map[string]bool{"nobody": true, "Nobody@x.org": true, "4294967294": true, "oracle@x": false, "1000": false} {
		if isNobody(owner) != nobody {
			t.Errorf("%q is nobody: %v", owner, !nobody)
		}
	}
}
