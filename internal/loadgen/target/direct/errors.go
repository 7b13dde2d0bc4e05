package direct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// describe names the addresses of the server, for messages.
func describe(cfg nfs.Config) string {
	var paths []string
	for _, c := range cfg.Channels {
		text := c.Path
		if c.Local != "" {
			text += " from " + c.Local
		}
		paths = append(paths, text)
	}
	return strings.Join(paths, ", ")
}

// portsOf names the ports that a client needs, for messages.
func portsOf(cfg nfs.Config) string {
	switch {
	case cfg.NFSPort != 0 && (!isV3(cfg) || cfg.MountPort != 0):
		return fmt.Sprintf("TCP port %d", cfg.NFSPort)
	case !isV3(cfg):
		return "TCP port 2049, and no other"
	default:
		return "TCP ports 111 (portmapper) and 2049 (NFS), and that of MOUNT"
	}
}

func isV3(cfg nfs.Config) bool { return cfg.Version == "" || cfg.Version == bench.NFSv3 }

// codeOf returns the failure code of the result file for a cause of NFSv4.
func codeOf(cause nfs.Cause) string {
	switch cause {
	case nfs.CauseVersion, nfs.CauseResources:
		return runfile.FailureUnsupported
	case nfs.CauseExport:
		return runfile.FailureNoSuchExport
	case nfs.CauseAccess:
		return runfile.FailureAccessDenied
	case nfs.CauseBusy:
		return runfile.FailureTimeout
	case nfs.CauseUnreachable:
		return runfile.FailureUnreachable
	default:
		return runfile.FailureProtocol
	}
}

// explainMount returns the reason for a failed mount, with a failure code of the result file.
func (t *Target) explainMount(cfg nfs.Config, err error) error {
	var status mount.Status
	isMount := errors.As(err, &status)
	explained, isExplained := errors.AsType[*nfs.ExplainedError](err)
	refused, isRefused := errors.AsType[*nfs.RefusedExportError](err)
	unknown, isUnknownName := errors.AsType[*net.DNSError](err)
	switch {
	case isExplained:
		return target.Fail(codeOf(explained.Cause), fmt.Sprintf(
			"export %q of %s cannot be mounted with %s: %s", cfg.Export, t.where, cfg.Version, explained.Says), explained.Err)
	case isRefused && len(refused.Listed) > 0:
		return t.explainNotListed(cfg.Export, refused, status, err)
	case isMount && (status == mount.ErrNoEnt || status == mount.ErrNotDir || status == mount.ErrInval ||
		status == mount.ErrNameTooLong):
		return target.Fail(runfile.FailureNoSuchExport, fmt.Sprintf(
			"%s has no export %q; compare it with what 'showmount -e' lists, letter by letter", t.where, cfg.Export), err)
	case isRefused, rpc.IsAuthError(err), nfs.IsPermission(err):
		address := ""
		if isRefused {
			address = " (address " + refused.Client + ")"
		}
		return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf("%s refuses export %q to this client%s; look at the "+
			"export policy (client addresses, sys, root access, ports above 1023)", t.where, cfg.Export, address), err)
	case isUnknownName:
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"the name %s is not known here; correct it, or give an address", unknown.Name), err)
	case isNetwork(err):
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"no answer from %s; look at the address, whether the NFS server runs, and at firewalls, which must let through %s",
			t.where, portsOf(cfg)), err)
	default:
		return target.Fail(runfile.FailureProtocol,
			fmt.Sprintf("export %q of %s cannot be mounted", cfg.Export, t.where), err)
	}
}

// explainNotListed names the exports that the server lists. A server that refuses may have the export and hide it from
// this client, so only one that says that it does not exist is believed.
func (t *Target) explainNotListed(
	export string, refused *nfs.RefusedExportError, status mount.Status, err error,
) error {
	const most = 5
	listed := refused.Listed
	lists := "it lists " + strings.Join(listed[:min(len(listed), most)], ", ")
	if len(listed) > most {
		lists += " and more"
	}
	if near := human.Nearest(export, listed); near != "" {
		lists = fmt.Sprintf("did you mean %q?", near)
	}
	if status == mount.ErrNoEnt {
		return target.Fail(runfile.FailureNoSuchExport, fmt.Sprintf("%s has no export %q; %s", t.where, export, lists), err)
	}
	return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf("%s refuses export %q to this client (address %s) and "+
		"does not list it; let the export policy admit the client, or correct the path: %s", t.where, export,
		refused.Client, lists), err)
}

func isNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nfs.ErrTimeout) ||
		rpc.IsLost(err)
}

// explain adds the failure code to an error of an operation, which the caller names. It returns io.EOF unchanged.
func (t *Target) explain(err error) error {
	explained, isExplained := errors.AsType[*nfs.ExplainedError](err)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case isExplained:
		return target.Fail(codeOf(explained.Cause), t.where+": "+explained.Says, explained.Err)
	case nfs.IsNotExist(err):
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case nfs.IsExist(err):
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case nfs.IsNotEmpty(err):
		return fmt.Errorf("%w: %w", syscall.ENOTEMPTY, err)
	case nfs.IsNoSpace(err):
		return target.Fail(runfile.FailureNoSpace, fmt.Sprintf(
			"the export or the quota on %s is full; make the files smaller or the volume larger", t.where), err)
	case nfs.IsPermission(err), rpc.IsAuthError(err):
		return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf(
			"%s does not let uid %d, gid %d do this; look at the owner and mode of the export's directory, at "+
				"root_squash and at read-only exports",
			t.where, t.user.UID, t.user.GID), err)
	case errors.Is(err, nfs.ErrTimeout):
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"no path of %s answered within the call timeout; look at the network and the server", t.where), err)
	case rpc.IsProtocolError(err):
		return target.Fail(runfile.FailureProtocol, fmt.Sprintf("the replies of %s make no sense", t.where), err)
	case nfs.IsStale(err):
		return target.Fail(runfile.FailureIO, "somebody removed the file or its export under the load",
			fmt.Errorf("%w: %w", syscall.ESTALE, err))
	default:
		return err
	}
}
