package server

import (
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// procPortmapDump lists all mappings.
const procPortmapDump = 4

func (w *worker) portmap(procedure uint32) rpc.AcceptStatus {
	switch procedure {
	case mount.PortmapProcNull:
	case mount.PortmapProcGetport:
		var m mount.Mapping
		m.Decode(&w.args)
		if w.garbage() {
			return rpc.AcceptGarbageArgs
		}
		w.out = xdr.AppendUint32(w.out, w.port(m))
	case procPortmapDump:
		for _, m := range w.mappings() {
			w.out = m.Append(xdr.AppendBool(w.out, true))
		}
		w.out = xdr.AppendBool(w.out, false)
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}

// port answers GETPORT: 0 = no such program.
func (w *worker) port(wanted mount.Mapping) uint32 {
	for _, m := range w.mappings() {
		if m.Program == wanted.Program && m.Version == wanted.Version && m.Protocol == wanted.Protocol {
			return m.Port
		}
	}
	return 0
}

func (w *worker) mappings() []mount.Mapping {
	srv := w.conn.srv
	port := uint32(srv.opt.AdvertisePort)
	if port == 0 {
		port = uint32(w.conn.on.port)
	}
	if srv.opt.AdvertisePort == 0 && w.conn.on.portmapOnly {
		port = uint32(srv.listeners[0].port)
	}
	return []mount.Mapping{
		{Program: mount.PortmapProgram, Version: mount.PortmapVersion, Protocol: mount.ProtocolTCP, Port: uint32(w.conn.on.port)},
		{Program: mount.Program, Version: mount.Version, Protocol: mount.ProtocolTCP, Port: port},
		{Program: v3.Program, Version: v3.Version, Protocol: mount.ProtocolTCP, Port: port},
	}
}
