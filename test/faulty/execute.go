package faulty

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// errEnd ends a connection.
var errEnd = errors.New("the test ends this connection")

// intercept is the server's Intercept.
func (s *Server) intercept(of server.Call, execute func() []byte) (reply []byte, err error) {
	c := of.Conn.(*conn)
	call := Call{Program: of.Program, Procedure: of.Procedure, XID: of.XID, Address: c.address, Conn: c.number}
	s.mu.Lock()
	dead, own := c.dead, s.own
	s.mu.Unlock()
	switch {
	case dead:
		return nil, errEnd
	case c.RemoteAddr().String() == own:
		return execute(), nil
	}
	action := Answer
	if s.Hook != nil {
		action = s.Hook(call)
	}
	switch action { //nolint:exhaustive // the others act on a reply
	case Drop:
		return nil, nil
	case Disconnect:
	default:
		if reply, err = s.reply(c, call, of.Arguments, execute, action); err != nil {
			return nil, err
		}
	}
	if s.Delay != nil {
		select {
		case <-time.After(s.Delay(call)):
		case <-s.done:
		}
	}
	return s.spoil(c, call, reply, action)
}

// spoil does to a reply what action says.
func (s *Server) spoil(c *conn, call Call, reply []byte, action Action) ([]byte, error) {
	more := true
	switch action { //nolint:exhaustive // the others leave the reply as it is
	case Disconnect, Lose:
		reply, more = nil, false
	case Truncate:
		reply, more = reply[:len(reply)/2], false
	case Garbage:
		for i := range reply[rpc.RecordMarkBytes:] {
			reply[rpc.RecordMarkBytes+i] = 0xAA
		}
	case Oversize:
		reply[0], reply[1] = 0xFF, 0xFF
	}
	if s.Rewrite != nil && reply != nil {
		var on bool
		reply, on = s.Rewrite(call, reply)
		more = more && on
	}
	if more {
		return reply, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.dead = true
	return reply, errEnd
}

// reply executes a call, or refuses it as action says.
func (s *Server) reply(c *conn, call Call, args []byte, execute func() []byte, action Action) ([]byte, error) {
	status, refused := action.status()
	if call.Program == mount.Program && call.Procedure == mount.ProcMnt && !refused {
		var path mount.PathArgs
		d := xdr.NewDecoder(args)
		xdr.Decode(&d, &path)
		status, refused = v3.Status(mount.ErrAcces), path.Path == Denied
	}
	if refused {
		h := rpc.ReplyHeader{XID: call.XID}
		out := appendFailure(h.Append(rpc.AppendRecordMark(nil, 0)), call, status)
		rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
		return out, nil
	}
	if s.Short != nil && (call.IsRead() || call.IsWrite()) {
		shorten(args, call.IsWrite(), s.Short(call))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dead {
		return nil, errEnd // what a dead connection brought must not change anything any more
	}
	commits := call.Program == v3.Program && call.Procedure == v3.ProcCommit
	if call.IsWrite() {
		s.remember(args)
		s.change(call, args)
	}
	out := execute()
	s.changeReply(call, args, out)
	if done := len(out) > resultsAt+4 && binary.BigEndian.Uint32(out[resultsAt:]) == uint32(v3.OK); done && (commits || call.IsWrite()) {
		out[len(out)-1] += s.restarts // the end of the verifier, which ends the results
		if commits {
			delete(s.unstable, string(handleOf(args)))
		}
	}
	return out, nil
}

const resultsAt = rpc.RecordMarkBytes + 24

// appendFailure appends results that say status and nothing else.
func appendFailure(out []byte, call Call, status v3.Status) []byte {
	out = xdr.AppendUint32(out, uint32(status))
	absent := 2 // attributes: before and after
	switch call.Procedure {
	case v3.ProcGetattr:
		absent = 0
	case v3.ProcRead, v3.ProcLookup, v3.ProcReaddirplus, v3.ProcFsinfo, v3.ProcFsstat:
		absent = 1
	}
	if call.Program == mount.Program {
		absent = 0
	}
	for range absent {
		out = xdr.AppendBool(out, false)
	}
	return out
}

// handleOf returns the handle that the arguments of READ, WRITE and COMMIT begin with.
func handleOf(args []byte) []byte {
	d := xdr.NewDecoder(args)
	return d.Opaque(v3.MaxHandleBytes)
}

// shorten makes a READ or WRITE one of so many bytes, or leaves it whole with 0.
func shorten(args []byte, write bool, limit uint32) {
	count := args[4+len(handleOf(args))+8:] // behind the offset
	if limit == 0 || binary.BigEndian.Uint32(count) <= limit {
		return
	}
	binary.BigEndian.PutUint32(count, limit)
	if write {
		binary.BigEndian.PutUint32(count[8:], limit) // the length of the data, behind the stability
	}
}

// change lets Writing change the arguments of a WRITE.
func (s *Server) change(call Call, args []byte) {
	var w v3.WriteArgs
	d := xdr.NewDecoder(args)
	if xdr.Decode(&d, &w); s.Writing == nil || d.Err() != nil {
		return
	}
	name := string(w.Handle)
	if s.paths[name] == "" {
		s.paths[name] = s.find(func(e os.FileInfo) bool { return inode(e) == binary.BigEndian.Uint64(w.Handle[8:]) })
	}
	before := make([]byte, len(w.Data))
	if f, err := os.Open(s.paths[name]); err == nil {
		n, _ := f.ReadAt(before, int64(w.Offset))
		before = before[:n]
		_ = f.Close()
	}
	s.Writing(call, &w, before) // w.Data is a part of args
	binary.BigEndian.PutUint64(args[4+len(w.Handle):], w.Offset)
}

// changeReply lets Reading change the data in the reply to a READ.
func (s *Server) changeReply(call Call, args, reply []byte) {
	if s.Reading == nil || !call.IsRead() || len(reply) < resultsAt {
		return
	}
	var r v3.ReadArgs
	var res v3.ReadRes
	d, of := xdr.NewDecoder(args), xdr.NewDecoder(reply[resultsAt:])
	xdr.Decode(&d, &r)
	if xdr.Decode(&of, &res); d.Err() == nil && of.Err() == nil {
		s.Reading(r, res.Data)
	}
}

// memory is what a crash leaves of a file of which data are unstable.
type memory struct {
	path   string
	stable []byte
}

// remember notes what the file of a WRITE is without it, if it is not stable.
func (s *Server) remember(args []byte) {
	var w v3.WriteArgs
	d := xdr.NewDecoder(args)
	xdr.Decode(&d, &w)
	m := s.unstable[string(w.Handle)]
	switch {
	case d.Err() != nil || m == nil && w.Stable != v3.Unstable:
	case m == nil:
		path := s.find(func(e os.FileInfo) bool { return inode(e) == binary.BigEndian.Uint64(w.Handle[8:]) })
		if content, err := os.ReadFile(path); err == nil {
			s.unstable[string(w.Handle)] = &memory{path: path, stable: content}
		}
	case w.Stable != v3.Unstable:
		if need := int(w.Offset) + len(w.Data); need > len(m.stable) {
			m.stable = append(m.stable, make([]byte, need-len(m.stable))...)
		}
		copy(m.stable[w.Offset:], w.Data)
	}
}

// crash undoes what was not stable and returns how many bytes that changes.
func (m *memory) crash() (forgotten int64, err error) {
	before, err := os.ReadFile(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	forgotten = int64(len(before) - len(m.stable))
	for i, b := range m.stable {
		if i < len(before) && before[i] != b {
			forgotten++
		}
	}
	return forgotten, errors.Join(err, os.WriteFile(m.path, m.stable, 0o600))
}
