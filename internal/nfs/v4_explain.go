package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Cause is the kind of an ExplainedError.
type Cause string

// Causes.
const (
	CauseVersion     Cause = "Version"     // the server does not speak this version of NFS
	CauseExport      Cause = "Export"      // the path does not exist, or is on another server
	CauseAccess      Cause = "Access"      // the server does not admit this client
	CauseBusy        Cause = "Busy"        // the server asked to wait for longer than the time available
	CauseResources   Cause = "Resources"   // the server gives fewer slots, sessions or clients than needed
	CauseUnreachable Cause = "Unreachable" // nothing answers as NFSv4
)

// ExplainedError explains why a server cannot be used, and how to fix it.
type ExplainedError struct {
	Cause Cause
	// Says is a clause for users, with the fix. It quotes and shortens names from the server.
	Says string
	Err  error // the server's error
}

func (e *ExplainedError) Error() string { return e.Says + ": " + e.Err.Error() }

// Unwrap returns the server's error.
func (e *ExplainedError) Unwrap() error { return e.Err }

// inquiry explains a failed mount. It queries the server as needed.
type inquiry struct {
	cfg    *Config
	server *serverV4  // nil: there was no client ID
	names  []string   // the path of the export
	local  []net.Addr // of the connections
	waited time.Duration
	lease  time.Duration // 0: unknown
	err    error
}

// explanation is one row of the table of errors. Either says or ask is set.
type explanation struct {
	statuses []v4.Status
	cause    Cause
	says     string
	ask      func(*inquiry, context.Context) string
}

// explanations has a row for each status that users meet when they mount. The first matching row counts.
func explanations() []explanation {
	return []explanation{
		{statuses: []v4.Status{v4.ErrMinorVersMismatch}, cause: CauseVersion, ask: (*inquiry).minorVersion},
		{statuses: []v4.Status{v4.ErrWrongSec}, cause: CauseAccess, ask: (*inquiry).security},
		{statuses: []v4.Status{v4.ErrAccess, v4.ErrPerm}, cause: CauseAccess, ask: (*inquiry).access},
		{statuses: []v4.Status{v4.ErrMoved}, cause: CauseExport, ask: (*inquiry).referral},
		{
			statuses: []v4.Status{
				v4.ErrNoEnt, v4.ErrNotDir, v4.ErrSymlink, v4.ErrInval, v4.ErrNameTooLong, v4.ErrBadName,
				v4.ErrBadChar,
			},
			cause: CauseExport, ask: (*inquiry).path,
		},
		{statuses: []v4.Status{v4.ErrGrace}, cause: CauseBusy, ask: (*inquiry).grace},
		{statuses: []v4.Status{v4.ErrDelay}, cause: CauseBusy, ask: (*inquiry).delay},
		{
			statuses: []v4.Status{v4.ErrClIDInUse, v4.ErrClientIDBusy}, cause: CauseResources,
			says: "the server takes this client for another one that it serves already; run again, which gives the client a " +
				"new name, and look for an address translation (NAT) between client and server if it stays so",
		},
		{
			statuses: []v4.Status{v4.ErrResource, v4.ErrNoSpc, v4.ErrTooSmall}, cause: CauseResources,
			says: "the server has no room for another client or session; " + makeRoom,
		},
		{
			statuses: []v4.Status{v4.ErrServerFault}, cause: CauseResources,
			says: "the server failed; look at its log. If it has no room for another client or session, " + makeRoom,
		},
		{statuses: []v4.Status{v4.ErrROFS}, cause: CauseAccess, ask: (*inquiry).readOnly},
		{statuses: []v4.Status{v4.ErrBadOwner}, cause: CauseAccess, says: "the server cannot map an owner. " + numericOwners},
	}
}

// makeRoom is the advice for servers that have no room for another client.
const makeRoom = "use fewer jobs and paths, close other NFSv4 clients, or give it more (ONTAP: " +
	"-v4.x-session-num-slots of 'vserver nfs modify'; FlashBlade: look at its alerts; Linux: memory of the server, and " +
	"its log)"

// numericOwners is the advice for servers that must accept numeric owners (RFC 7530 section 5.9).
const numericOwners = "Make it take owners as numbers (ONTAP: vserver nfs modify -vserver SVM -v4-numeric-ids " +
	"enabled; Linux: nfs4_disable_idmapping=1 of the module nfsd; FlashBlade: set the owner of the file system's root " +
	"over NFSv3)"

// explained returns err with its explanation, or unchanged if there is none.
func (q *inquiry) explained(ctx context.Context) error {
	if _, already := errors.AsType[*ExplainedError](q.err); already {
		return q.err
	}
	if refused, ok := errors.AsType[*rpc.RefusedError](q.err); ok {
		return q.refused(refused)
	}
	if errors.Is(q.err, syscall.ECONNREFUSED) {
		return q.as(CauseUnreachable, "nothing listens for "+q.version()+" there; look whether the NFS server runs and "+
			"speaks it ("+enable(q.cfg.Version)+")")
	}
	if rpc.IsLost(q.err) && (errors.Is(q.err, io.EOF) || errors.Is(q.err, syscall.ECONNRESET)) {
		return q.as(CauseUnreachable, "the server ends the connection as soon as this client speaks "+
			q.version()+"; look whether it is enabled ("+enable(q.cfg.Version)+")"+portAdvice(q.local))
	}
	status := statusOf(q.err)
	if status == v4.OK {
		return q.err
	}
	for _, row := range explanations() {
		if !slices.Contains(row.statuses, status) {
			continue
		}
		says := row.says
		if row.ask != nil {
			says = row.ask(q, ctx)
		}
		return q.as(row.cause, says)
	}
	return q.err
}

func (q *inquiry) as(cause Cause, says string) error {
	return &ExplainedError{Cause: cause, Says: says, Err: q.err}
}

// version returns the requested version.
func (q *inquiry) version() string {
	if q.cfg.Version == bench.PNFS {
		return string(bench.NFSv41) // pNFS is a part of it
	}
	return string(q.cfg.Version)
}

// refused explains a refusal by RPC, which precedes NFS.
func (q *inquiry) refused(e *rpc.RefusedError) error {
	switch {
	case rpc.IsAuthError(e):
		return q.as(CauseAccess, "the server refuses the credential of this client"+q.address()+"; allow security sys in "+
			"the export policy"+portAdvice(q.local))
	case e.Denied, e.Accept != rpc.AcceptProgramMismatch && e.Accept != rpc.AcceptProgramUnavail:
		return q.err
	}
	speaks := ""
	if e.Accept == rpc.AcceptProgramMismatch && e.Low <= e.High {
		speaks = fmt.Sprintf(", only NFSv%d", e.Low)
		if e.High > e.Low {
			speaks += fmt.Sprintf(" to NFSv%d", e.High)
		}
	}
	return q.as(CauseVersion, fmt.Sprintf("the server does not speak NFSv4%s; enable %s (%s), or use "+
		"NFSv3", speaks, q.version(),
		enable(q.cfg.Version)))
}

// enable returns the advice for enabling a version.
func enable(v bench.NFSVersion) string {
	if v == bench.NFSv40 {
		return "ONTAP: vserver nfs modify -vserver SVM -v4.0 enabled; FlashBlade: it has no NFSv4.0, use NFSv4.1; Linux: " +
			"vers4.0=y under [nfsd] in /etc/nfs.conf, then restart nfs-server"
	}
	return "ONTAP: vserver nfs modify -vserver SVM -v4.1 enabled; FlashBlade: the NFSv4.1 rule of the file system; " +
		"Linux: vers4.1=y under [nfsd] in /etc/nfs.conf, then restart nfs-server"
}

// minorVersion checks whether the server supports the other minor version.
func (q *inquiry) minorVersion(ctx context.Context) string {
	other, minor := bench.NFSv41, uint32(1)
	if q.cfg.Version != bench.NFSv40 {
		other, minor = bench.NFSv40, 0
	}
	says := "the server speaks NFSv4, but not " + q.version()
	switch yes, asked := q.speaks(ctx, minor); {
	case yes:
		return fmt.Sprintf("%s: it speaks %s; use that, or enable %s (%s)", says, other, q.version(), enable(q.cfg.Version))
	case asked:
		says += fmt.Sprintf(", and not %s either", other)
	}
	return fmt.Sprintf("%s; enable it (%s), or use NFSv3", says, enable(q.cfg.Version))
}

// speaks tries a minor version over a new connection. The result asked reports whether the server answered.
func (q *inquiry) speaks(ctx context.Context, minor uint32) (yes, asked bool) {
	for _, ch := range q.cfg.Channels {
		conn, err := dialRPC(ctx, ch, q.cfg.NFSPort, *q.cfg)
		if err != nil {
			continue
		}
		defer func() { _ = conn.Close() }()
		s := newServerV4(q.cfg, minor, 0, nil)
		x := v4.ExchangeID{Verifier: s.verifier, Owner: s.owner, Flags: v4.ExchangeUseNonPNFS}
		if minor == 0 {
			err = s.over(ctx, conn, &v4.PutRootFH{})
		} else if err = s.over(ctx, conn, &x); err == nil {
			_ = s.over(ctx, conn, &v4.DestroyClientID{ClientID: x.ClientID}) // otherwise it would only expire
		}
		asked = err == nil || statusOf(err) != v4.OK
		return asked && !errors.Is(err, v4.ErrMinorVersMismatch), asked
	}
	return false, false
}

func (q *inquiry) security(context.Context) string {
	return "the export wants a security flavor other than sys, which usually is Kerberos; allow sys (ONTAP: vserver " +
		"export-policy rule modify -rorule sys -rwrule sys -superuser sys; FlashBlade: sec=sys in the NFS rule; Linux: " +
		"sec=sys in /etc/exports), or mount the export and use the client of the operating system" + portAdvice(q.local)
}

func (q *inquiry) access(context.Context) string {
	return "the export policy does not admit this client" + q.address() + "; look at its rules, at those of the " +
		"volumes above it, and at the mode of its directories (ONTAP: vserver export-policy check-access; FlashBlade: " +
		"the NFS rules of the file system; Linux: /etc/exports)" + portAdvice(q.local)
}

// address returns the client's address in parentheses, for a sentence.
func (q *inquiry) address() string {
	if hosts := q.hosts(); hosts != "" {
		return " (address " + hosts + ")"
	}
	return ""
}

// hosts returns the client's addresses as in export policies.
func (q *inquiry) hosts() string {
	var hosts []string
	for _, local := range q.local {
		if host, _, err := net.SplitHostPort(local.String()); err == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ", ")
}

// portAdvice returns the advice for servers that may require a reserved port.
func portAdvice(local []net.Addr) string {
	i := slices.IndexFunc(local, isHighPort)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; or the server wants a port below 1024, and this client comes from %s: run it as root, with "+
		"CAP_NET_BIND_SERVICE, or allow such ports (ONTAP: vserver nfs modify -nfs-rootonly disabled -mount-rootonly "+
		"disabled; FlashBlade: insecure in the NFS rule; Linux: insecure in /etc/exports)", local[i])
}

func (q *inquiry) grace(context.Context) string {
	return "the server is in its grace period after a restart, in which only clients that it knew may go on; it still " +
		"was after " + q.patience() + ". Run again later, or make the timeout longer or the grace period shorter (ONTAP: " +
		"vserver nfs modify -v4-grace-seconds; FlashBlade: wait; Linux: grace-time under [nfsd] in /etc/nfs.conf)"
}

func (q *inquiry) delay(context.Context) string {
	return "the server asks to try again later, and still did after " + q.patience() + "; it is busy, is moving the " +
		"volume, or has no room for another session. Look at its load and its log, and run again later"
}

func (q *inquiry) patience() string {
	text := q.waited.Round(100 * time.Millisecond).String()
	if q.lease > 0 {
		text += " of waiting, with a lease time of " + q.lease.String()
	}
	return text
}

// failed explains why a file was not opened or a directory not created.
func (p *protoV4) failed(ctx context.Context, dir FileHandle, began time.Time, err error) error {
	switch statusOf(err) {
	case v4.ErrAccess, v4.ErrPerm:
		return p.denied(ctx, dir, err)
	case v4.ErrGrace, v4.ErrDelay, v4.ErrBadOwner, v4.ErrResource, v4.ErrWrongSec, v4.ErrROFS:
		s := p.server()
		q := inquiry{
			cfg: p.cfg, server: s, names: p.names(), local: p.local,
			waited: p.cfg.Now().Sub(began), lease: time.Duration(s.lease.Load()), err: err,
		}
		return q.explained(ctx)
	default:
		return err
	}
}

// denied names the owner of the directory in which the user lacks permission.
func (p *protoV4) denied(ctx context.Context, dir FileHandle, err error) error {
	a, asked := p.attributes(ctx, dir, v4.AttrMode, v4.AttrOwner, v4.AttrOwnerGroup)
	if asked != nil {
		return err
	}
	err = fmt.Errorf("%w (the directory belongs to %s:%s, mode "+
		"%04o)", err, quoted(a.Owner), quoted(a.OwnerGroup), a.Mode&0o7777)
	if !isNobody(a.Owner) && !isNobody(a.OwnerGroup) {
		return err
	}
	return fmt.Errorf("%w: nobody is whom the server squashed, or whom it has no name for. %s, or squash "+
		"nobody", err, numericOwners)
}

// isNobody reports whether a server uses this owner for one that it cannot name.
func isNobody(owner string) bool {
	name, _, _ := strings.Cut(strings.ToLower(owner), "@")
	return slices.Contains([]string{"nobody", "nogroup", "nfsnobody", "65534", "4294967294"}, name)
}

// tooFewSessions explains why there are no sessions, unless the connection or RPC failed.
func tooFewSessions(err error) error {
	_, refused := errors.AsType[*rpc.RefusedError](err)
	_, network := errors.AsType[*net.OpError](err)
	if refused || network || rpc.IsLost(err) || rpc.IsProtocolError(err) || errors.Is(err, ErrTimeout) ||
		errors.Is(err, rpc.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &ExplainedError{Cause: CauseResources, Err: err, Says: "the server does not give a session for each job " +
		"of the load; lower jobs, or raise its limits (ONTAP: vserver nfs modify -v4.x-session-num-slots; FlashBlade: has " +
		"no setting; Linux: memory of the server)"}
}

// warnLayouts warns early if pNFS will carry no data although the mount succeeds.
func (p *protoV4) warnLayouts() {
	if p.layouts.wanted {
		return
	}
	why := "the file system offers no layouts"
	if kind := p.layouts.kind; kind != "" {
		why = "the file system offers layouts of type " + kind + ", and this client speaks files only"
	}
	p.cfg.Logger.Warn("pNFS is asked for and will not be used: all data goes through the metadata server", "why", why,
		"fix", "ONTAP: vserver nfs modify -vserver SVM -v4.1-pnfs enabled, better with -v4.0 disabled and -v4.1-referrals "+
			"disabled; FlashBlade has no pNFS, and the NFS server of Linux has no files layouts: use NFSv4.1")
}

// warnServers warns that the paths lead to servers that share nothing.
func (p *protoV4) warnServers(groups [][]*channel) {
	var all []string
	for _, channels := range groups {
		all = append(all, (&serverV4{channels: channels}).describe())
	}
	p.cfg.Logger.Info("The paths lead to NFS servers that know nothing of each other; each has a client ID of its own, "+
		"and all must serve the same files", "servers", strings.Join(all, " | "))
}

// warnDataServer warns once that the data of a layout cannot use its data server.
func (p *protoV4) warnDataServer(ds *dataServer) {
	if ds.started.Load() {
		return
	}
	if _, told := p.warned.LoadOrStore(ds, true); told {
		return
	}
	var at []string
	for _, ch := range ds.server.channels {
		at = append(at, fmt.Sprintf("%s port %d", ch.addr.Path, ch.port))
	}
	p.cfg.Logger.Warn("A data server of pNFS cannot be reached: its data goes through the metadata server and is "+
		"counted as layout fallbacks", "address", strings.Join(at, ", "), "fix", "let this host reach the address over "+
		"TCP: open the firewall, add a route, or give the data LIF an address that clients reach")
}
