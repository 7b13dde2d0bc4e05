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
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// describe returns server, addresses and ports, for messages.
func describe(cfg nfs.Config, label string) string {
	var paths []string
	for _, c := range cfg.Channels {
		text := c.Path
		if c.Local != "" {
			text += " from " + c.Local
		}
		paths = append(paths, text)
	}
	ports := "ports from its portmapper"
	switch {
	case cfg.NFSPort != 0:
		ports = fmt.Sprintf("NFS port %d", cfg.NFSPort)
	case !isV3(cfg):
		ports = "NFS port 2049"
	}
	return fmt.Sprintf("server %q (%s; %s)", label, strings.Join(paths, ", "), ports)
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
	switch {
	case isExplained:
		return target.Fail(codeOf(explained.Cause), fmt.Sprintf(
			"export %q of %s cannot be mounted with %s: %s", cfg.Export, t.where, cfg.Version, explained.Says), explained.Err)
	case isMount && (status == mount.ErrNoEnt || status == mount.ErrNotDir || status == mount.ErrInval ||
		status == mount.ErrNameTooLong):
		return target.Fail(runfile.FailureNoSuchExport, fmt.Sprintf(
			"%s has no export %q; compare it with what 'showmount -e' lists, letter by letter", t.where, cfg.Export), err)
	case isMount && (status == mount.ErrAcces || status == mount.ErrPerm), rpc.IsAuthError(err), nfs.IsPermission(err):
		return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf(
			"%s refuses export %q to this client; look at the export policy (client addresses, sys, root access, ports above "+
				"1023)", t.where, cfg.Export), err)
	case isNetwork(err) && !isV3(cfg):
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"%s does not answer; look at the addresses, at firewalls for NFS (%s uses TCP port 2049 and no other), and whether "+
				"the NFS server runs", t.where, cfg.Version), err)
	case isNetwork(err):
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"%s does not answer; look at the addresses, at firewalls for the portmapper (111), MOUNT and NFS (2049), and "+
				"whether the NFS server runs", t.where), err)
	default:
		return target.Fail(runfile.FailureProtocol,
			fmt.Sprintf("export %q of %s cannot be mounted", cfg.Export, t.where), err)
	}
}

func isNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nfs.ErrTimeout) ||
		rpc.IsLost(err)
}

// explain adds the failure code to an error of an operation. It returns io.EOF unchanged.
func (t *Target) explain(what string, err error) error {
	explained, isExplained := errors.AsType[*nfs.ExplainedError](err)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case isExplained:
		return target.Fail(codeOf(explained.Cause), fmt.Sprintf("%s: %s: %s", what, t.where, explained.Says), explained.Err)
	case nfs.IsNotExist(err):
		return fmt.Errorf("%s: %w: %w", what, fs.ErrNotExist, err)
	case nfs.IsExist(err):
		return fmt.Errorf("%s: %w: %w", what, fs.ErrExist, err)
	case nfs.IsNotEmpty(err):
		return fmt.Errorf("%s: %w: %w", what, syscall.ENOTEMPTY, err)
	case nfs.IsNoSpace(err):
		return target.Fail(runfile.FailureNoSpace, fmt.Sprintf(
			"%s: the export or the quota on %s is full; make the files smaller or the volume larger", what, t.where), err)
	case nfs.IsPermission(err), rpc.IsAuthError(err):
		return target.Fail(runfile.FailureAccessDenied, fmt.Sprintf(
			"%s: %s does not let uid %d, gid %d do this; look at the owner and mode of the export's directory, at "+
				"root_squash and at read-only exports",
			what, t.where, t.user.UID, t.user.GID), err)
	case errors.Is(err, nfs.ErrTimeout):
		return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
			"%s: no path of %s answered within the call timeout; look at the network and the server", what, t.where), err)
	case rpc.IsProtocolError(err):
		return target.Fail(runfile.FailureProtocol, fmt.Sprintf("%s: the replies of %s make no sense", what, t.where), err)
	case nfs.IsStale(err):
		return target.Fail(runfile.FailureIO, what+": somebody removed the file or its export under the load", err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
