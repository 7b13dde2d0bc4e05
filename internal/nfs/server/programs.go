package server

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// procUmntAll forgets all mounts of the client.
const procUmntAll = 4

// mount executes MOUNT. No list of mounts is kept: DUMP is empty and UMNT has nothing to
// do, as with every server that does not want to lie after a client crashed.
func (w *worker) mount(procedure uint32) rpc.AcceptStatus {
	switch procedure {
	case mount.ProcNull, procUmntAll:
	case mount.ProcMnt, mount.ProcUmnt:
		var a mount.PathArgs
		if w.decode(&a); w.garbage() {
			return rpc.AcceptGarbageArgs
		}
		if procedure == mount.ProcMnt {
			res := w.mnt(a.Path)
			w.out = xdr.Append(w.out, &res)
		}
	case mount.ProcDump:
		w.out = xdr.AppendBool(w.out, false)
	case mount.ProcExport:
		w.out = xdr.Append(w.out, &mount.ExportRes{Exports: []mount.Export{{Path: w.conn.srv.opt.Export}}})
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}

// mnt finds the export or a directory below it.
func (w *worker) mnt(wanted string) mount.MntRes {
	srv := w.conn.srv
	wanted = path.Clean("/" + wanted)
	below, ok := strings.CutPrefix(wanted, strings.TrimSuffix(srv.opt.Export, "/"))
	if !ok || below != "" && below[0] != '/' {
		return mount.MntRes{Status: mount.ErrNoEnt}
	}
	n, err := srv.tree.Root(), error(nil)
	for name := range strings.SplitSeq(below, "/") {
		if name != "" && err == nil {
			n, _, err = srv.tree.Lookup(n, name)
		}
	}
	if err == nil && !n.IsDir() {
		err = unix.ENOTDIR
	}
	switch {
	case err == nil:
		h := n.Handle()
		return mount.MntRes{Handle: h[:], Flavors: []uint32{uint32(rpc.FlavorSys), uint32(rpc.FlavorNone)}}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESTALE):
		return mount.MntRes{Status: mount.ErrNoEnt}
	case errors.Is(err, unix.EACCES):
		return mount.MntRes{Status: mount.ErrAcces}
	case errors.Is(err, unix.ENOTDIR):
		return mount.MntRes{Status: mount.ErrNotDir}
	case errors.Is(err, unix.ENAMETOOLONG):
		return mount.MntRes{Status: mount.ErrNameTooLong}
	}
	return mount.MntRes{Status: mount.ErrIO}
}

// procPortmapDump lists all mappings.
const procPortmapDump = 4

// portmap executes the portmapper's procedures for our own three programs.
func (w *worker) portmap(procedure uint32) rpc.AcceptStatus {
	srv, here := w.conn.srv, uint32(w.conn.on.port)
	port := here
	switch {
	case srv.opt.AdvertisePort != 0:
		port = uint32(srv.opt.AdvertisePort)
	case w.conn.on.portmapOnly:
		port = uint32(srv.listeners[0].port)
	}
	mappings := []mount.Mapping{
		{Program: mount.PortmapProgram, Version: mount.PortmapVersion, Protocol: mount.ProtocolTCP, Port: here},
		{Program: mount.Program, Version: mount.Version, Protocol: mount.ProtocolTCP, Port: port},
		{Program: v3.Program, Version: v3.Version, Protocol: mount.ProtocolTCP, Port: port},
	}
	switch procedure {
	case mount.PortmapProcNull:
	case mount.PortmapProcGetport:
		var wanted mount.Mapping
		if w.decode(&wanted); w.garbage() {
			return rpc.AcceptGarbageArgs
		}
		found := uint32(0) // no such program
		for _, m := range mappings {
			if m.Program == wanted.Program && m.Version == wanted.Version && m.Protocol == wanted.Protocol {
				found = m.Port
			}
		}
		w.out = xdr.AppendUint32(w.out, found)
	case procPortmapDump:
		for i := range mappings {
			w.out = xdr.Append(xdr.AppendBool(w.out, true), &mappings[i])
		}
		w.out = xdr.AppendBool(w.out, false)
	default:
		return rpc.AcceptProcUnavail
	}
	return rpc.AcceptSuccess
}
