package array

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// nfs4Letter ends the name of the namespace of the server of NFSv4.
const nfs4Letter = "v4"

// nfs4Server is the one server of NFSv4 of an array.
type nfs4Server struct {
	name    string
	process *process

	mu     sync.Mutex
	cpu    time.Duration            // of the process that is on the account of the nodes
	calls  map[string]uint64        // by node, those whose time is
	shares map[string]time.Duration // by node
}

func (s *nfs4Server) server() ganesha { return ganesha{s.name, "0.0.0.0", control.NFS4Port, "4"} }

// startNFS4 starts the server of NFSv4. It needs no rpcbind, for its clients know its port.
func (a *Array) startNFS4() error {
	s := &a.nfs4
	s.name = a.options.Name + "-" + nfs4Letter
	command, err := a.ganeshaCommand(s.server())
	if err != nil {
		return err
	}
	// A /run of its own, as that of the nodes: it must find no D-Bus of this machine.
	inside := []string{
		"ip", "netns", "exec", netnsOf(a.options.Name, nfs4Letter), "unshare", "-m", "sh", "-c",
		`mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/ganesha && exec "$@"`, "sh",
	}
	s.process, err = a.launch(s.name, "ganesha", append(inside, command...)...)
	return err
}

// busy returns the processor time of the server that is on the account of a node. What it
// used since it was asked last is divided by the calls to it that went to the volumes of
// each node since then, as the N-blades tell. Without calls the owner of the first volume
// has it.
func (s *nfs4Server) busy(node string, told []control.Counts, first string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := readStat(s.process.id.PID)
	if err == nil && st.began == s.process.id.Began && st.cpu > s.cpu {
		s.divide(st.cpu-s.cpu, sumOf(told), first)
		s.cpu = st.cpu
	}
	return s.shares[node]
}

func sumOf(told []control.Counts) map[string]uint64 {
	calls := map[string]uint64{}
	for _, c := range told {
		for node, n := range c.NFS4Calls {
			calls[node] += n
		}
	}
	return calls
}

// divide puts processor time on the account of the nodes. calls are all so far.
func (s *nfs4Server) divide(spent time.Duration, calls map[string]uint64, first string) {
	if s.shares == nil {
		s.calls, s.shares = map[string]uint64{}, map[string]time.Duration{}
	}
	since, sum := map[string]uint64{}, uint64(0)
	for node, n := range calls {
		if n > s.calls[node] { // fewer: an N-blade did not answer
			since[node] = n - s.calls[node]
			sum += since[node]
			s.calls[node] = n
		}
	}
	if sum == 0 {
		s.shares[first] += spent
	}
	for node, n := range since {
		s.shares[node] += time.Duration(float64(spent) * float64(n) / float64(sum))
	}
}

// lookUpV4 walks to a volume from the root of NFSv4.0, which needs no state.
func lookUpV4(ctx context.Context, l LIF, v Volume) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(l.Address, "2049"))
	if err != nil {
		return err
	}
	conn := rpc.NewConn(nc, rpc.Options{})
	defer func() { _ = conn.Close() }()
	return compound(ctx, conn, 0, walk(v)...)
}

// walk leads from the root of NFSv4 to a volume.
func walk(v Volume) []v4.Operation {
	ops := []v4.Operation{&v4.PutRootFH{}}
	for name := range strings.SplitSeq(strings.TrimPrefix(v.Junction, "/"), "/") {
		ops = append(ops, &v4.Lookup{Name: name})
	}
	return ops
}

// compound makes one COMPOUND as root and decodes its results into ops.
func compound(ctx context.Context, conn *rpc.Conn, minor uint32, ops ...v4.Operation) error {
	var call rpc.Call
	call.Reset()
	p := v4.Compound{Minor: minor, Ops: ops}
	call.Request = p.Append(rpc.AppendCall(nil, v4.Program, v4.Version, v4.ProcCompound, rpc.AuthSys{}.Auth()))
	if err := conn.Do(ctx, &call); err != nil {
		return err
	}
	d := xdr.NewDecoder(call.Results)
	_, err := p.DecodeReply(&d)
	return err
}
