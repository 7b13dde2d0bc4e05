package nfs4

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// engineOf mounts /export of a server with NFSv4.1 over paths.
func engineOf(s *nfs4test.Server, paths ...string) runfile.Engine {
	return runfile.Engine{
		Client: bench.ClientDirectNFS, Server: "lab", Export: "/export", NFSVersion: bench.NFSv41,
		Channels: runfile.ChannelsTo(paths...), Ports: runfile.Ports{NFS: s.Port()}, MountTimeoutSeconds: 3600,
	}
}

func TestTheSourceOfAMountOverIPv6IsAsTheKernelWritesIt(t *testing.T) {
	needIPv6(t)
	s := &nfs4test.Server{}
	s.Start(t, "::1")
	tgt, err := direct.Open(t.Context(), direct.Options{Engine: engineOf(s, "::1"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	if got := tgt.Facts().Source; got != "[::1]:/export" {
		t.Errorf("the source is %q, want [::1]:/export", got)
	}
	if c := tgt.Channels(); len(c) != 1 || c[0].Path != "::1" || c[0].Local != "::1" {
		t.Errorf("channels %+v, want one from ::1 to ::1", c)
	}
}

func TestAStrangerUnderstandsWhatAnNFSv4ServerRefuses(t *testing.T) {
	moved := v4.FSLocations{Root: []string{"vol", "oradata"}, Locations: []v4.FSLocation{
		{Servers: []string{"10.0.0.9"}, Root: []string{"far"}},
	}}
	cases := map[string]struct {
		server *nfs4test.Server
		change func(*runfile.Engine)
		code   string
		says   []string
	}{
		"minor version": {
			&nfs4test.Server{Minors: []uint32{0}}, nil, runfile.FailureUnsupported, []string{"it speaks NFSv4.0", "-v4.1 enabled"},
		},
		"a path of NFSv3": {
			&nfs4test.Server{}, func(e *runfile.Engine) { e.Export = "/srv/vol/oradata" }, runfile.FailureNoSuchExport,
			[]string{`"/srv/vol/oradata"`, `did you mean "/vol/oradata"?`},
		},
		"referral": {
			&nfs4test.Server{FSLocations: moved, Hook: failing(v4.OpGetFH, v4.ErrMoved)}, nil, runfile.FailureNoSuchExport,
			[]string{`use export "/far" of server "10.0.0.9" instead`},
		},
		"export policy": {
			&nfs4test.Server{Hook: failing(v4.OpLookup, v4.ErrAccess)}, nil, runfile.FailureAccessDenied,
			[]string{"export policy", "(address 127.0.0.1, 127.0.0.2)"},
		},
		"Kerberos": {
			&nfs4test.Server{Hook: failing(v4.OpLookup, v4.ErrWrongSec)}, nil, runfile.FailureAccessDenied, []string{"Kerberos"},
		},
		"no room": {
			&nfs4test.Server{Hook: failing(v4.OpCreateSession, v4.ErrNoSpc)}, nil, runfile.FailureUnsupported, []string{"no room"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.server.Exports = []string{"/vol/oradata"}
			tc.server.Start(t, "127.0.0.1")
			e := engineOf(tc.server, "127.0.0.1", "127.0.0.1")
			e.Channels[0].Local, e.Channels[1].Local, e.Export = "127.0.0.1", "127.0.0.2", "/vol/oradata"
			if tc.change != nil {
				tc.change(&e)
			}
			tgt, err := direct.Open(t.Context(), direct.Options{Engine: e, Now: time.Now})
			if err == nil {
				_ = tgt.Close()
			}
			if target.CodeOf(err) != tc.code {
				t.Fatalf("got %v, want %s", err, tc.code)
			}
			for _, part := range append(tc.says, "cannot be mounted with NFSv4.1") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
			for _, part := range []string{"portmapper", "MOUNT", "showmount"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the message speaks of %s, which NFSv4 has not: %v", part, err)
				}
			}
		})
	}
}

func TestAMountThatEndsBeforeTheGracePeriodSaysHowLongItWaited(t *testing.T) {
	s := &nfs4test.Server{LeaveState: true, Hook: failing(v4.OpLookup, v4.ErrGrace)}
	s.Start(t, here)
	e := engineOf(s, here)
	var err error
	for e.MountTimeoutSeconds = 1; ; e.MountTimeoutSeconds *= 4 { // a busy machine needs some of it for the first answer
		var tgt target.Target
		if tgt, err = direct.Open(t.Context(), direct.Options{Engine: e, Now: time.Now}); err == nil {
			_ = tgt.Close()
		}
		if errors.Is(err, v4.ErrGrace) || e.MountTimeoutSeconds > 1000 {
			break
		}
	}
	if target.CodeOf(err) != runfile.FailureTimeout {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"grace period", fmt.Sprintf("after %v", time.Duration(e.MountTimeoutSeconds)*time.Second), "cannot be mounted with NFSv4.1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
}

// TestADatabaseNeedsOnePathThatTheServerAdmits: Direct NFS of NFSv4 would hang where there is none.
func TestADatabaseNeedsOnePathThatTheServerAdmits(t *testing.T) {
	t.Parallel()
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Address == there && c.Has(v4.OpLookup) {
			return nfs4test.Fail(v4.OpLookup, v4.ErrPerm)
		}
		return nfs4test.Action{}
	}}
	s.Start(t, here, there)
	for name, tc := range map[string]struct {
		paths []string
		want  []string // by path
	}{
		"all admit":    {[]string{here}, []string{runfile.CheckOK}},
		"one of two":   {[]string{there, here}, []string{runfile.CheckWarn, runfile.CheckOK}},
		"none of them": {[]string{there}, []string{runfile.CheckFail}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engineOf(s, tc.paths...)
			var got []string
			for _, c := range supervise.Examine(t.Context(), supervise.Options{
				DirectNFS: true, Engine: &e, Now: time.Now, HealthInterval: time.Millisecond, ProcDir: t.TempDir(),
			}) {
				if c.Check != "server" {
					continue
				}
				got = append(got, c.Result)
				if refused := c.Result != runfile.CheckOK; refused != strings.Contains(c.Message, "-nfs-rootonly disabled") {
					t.Errorf("%s: %s", c.Result, c.Message)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the checks of the paths are %v, want %v", got, tc.want)
			}
		})
	}
}
