package plan

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// MountPath is the mount path of the volume in the pods of a run, which the oranfstab names too.
const MountPath = runfile.DefaultMountPath

const (
	callTimeoutSeconds  = 600 // the default of the API, for specs that did not pass through it
	collectMilliseconds = 1000
)

// Anywhere returns a placeholder for a target that is not known yet, with an address and a name reserved for examples
// (RFC 5737, RFC 2606).
func Anywhere() Target {
	return Target{
		Export: "/unknown", Paths: []bench.ResolvedPath{{Path: "192.0.2.1"}},
		Addresses: []string{"192.0.2.1", "nas.example.com"},
	}
}

// Build makes the plan of a benchmark on a target. Only a change of the spec can fix the error.
func Build(b *v1alpha1.NFSBenchmark, t Target) (runfile.Plan, error) {
	engine, err := engine(b, t)
	if err != nil {
		return runfile.Plan{}, err
	}
	r := b.Spec.Run
	p := runfile.Plan{
		Version:  runfile.PlanVersion,
		Run:      identity(b),
		Clients:  max(b.Spec.Clients, 1),
		Engine:   engine,
		Workload: *b.Spec.Workload.DeepCopy(), // the plan has the type of the spec: nothing is copied field by field
		Expect:   b.Spec.Expect.DeepCopy(),
		Schedule: runfile.Schedule{
			BaselineSeconds: ptr.Deref(r.BaselineSeconds, 0), WarmupSeconds: ptr.Deref(r.WarmupSeconds, 0),
			DurationSeconds: r.DurationSeconds, CooldownSeconds: ptr.Deref(r.CooldownSeconds, 0),
			Repetitions: max(r.Repetitions, 1),
		},
		Collect:  runfile.Collect{IntervalMilliseconds: collectMilliseconds, Sources: t.Sources},
		Survey:   t.Survey,
		Database: database(b),
		Seed:     seed(b),
		Link:     b.Spec.Protocol.Link.DeepCopy(),
		Keep:     keeps(b),
	}
	if Container(b) != nil {
		if err := checkInstance(b, p.Database.Parameters); err != nil {
			return runfile.Plan{}, err
		}
	}
	p.Schedule.TimeoutSeconds = timeout(b, p)
	if err := p.Validate(); err != nil {
		return runfile.Plan{}, fmt.Errorf("plan the run: %w", err)
	}
	return p, nil
}

func identity(b *v1alpha1.NFSBenchmark) runfile.Identity {
	return runfile.Identity{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)}
}

func engine(b *v1alpha1.NFSBenchmark, t Target) (runfile.Engine, error) {
	pr := b.Spec.Protocol
	e := runfile.Engine{
		Client:              pr.Client,
		NFSVersion:          pr.Version,
		Transport:           pr.Transport,
		Security:            pr.Security,
		Export:              t.Export,
		MountTimeoutSeconds: pr.MountTimeoutSeconds,
		CallTimeoutSeconds:  cmp.Or(pr.CallTimeoutSeconds, callTimeoutSeconds),
		Sessions:            pr.Sessions,
		UserID:              credential(pr.UserID),
		GroupID:             credential(pr.GroupID),
		RequireNFS:          true,
	}
	if t.Survey != nil && pr.Paths != nil {
		e.PathSelection = pr.Paths.Select
	}
	if pr.TransferSize != nil {
		e.TransferSizeBytes = pr.TransferSize.Value()
	}
	if NeedsVolume(b) {
		e.MountPath = DataDirectory(b)
		// The volume of a claim, or of an existing class, has its own options.
		st := b.Spec.Storage
		if st.Claim == nil && st.StorageClass == nil && (st.Trident == nil || st.Trident.BackendName != "") {
			e.MountOptions = MountOptionsOf(b, mountedServer(t))
		}
		e.RequireNFS = st.Claim == nil || st.Claim.NonNFS != v1alpha1.NonNFSMeasure
	}
	if MountDecides(pr) || External(b) != nil && (len(t.Paths) == 0 || t.Export == "") {
		return e, nil
	}
	if len(t.Paths) == 0 {
		return e, errors.New("no address of the server is known: name one in storage.export.servers or " +
			"protocol.paths.explicit")
	}
	e.Server, e.Channels = serverName(b, t), t.Paths
	e.DontRoute = pr.DoNotRoute == bench.Enabled
	return e, checkTrunking(b, t)
}

// mountedServer returns the address of a kernel mount; empty if it is not known.
func mountedServer(t Target) string {
	switch {
	case t.Backend != nil:
		return t.Backend.DataLIF
	case len(t.Paths) > 0:
		return t.Paths[0].Path
	default:
		return ""
	}
}

func credential(id *int64) *uint32 {
	if id == nil {
		return nil
	}
	v := uint32(*id) //nolint:gosec // the CRD bounds it
	return &v
}

// checkTrunking refuses several paths of Oracle's client with a version that cannot use them: no known server trunks
// the sessions that the client opens with NFSv4.x. The native engine reports in its result how the server joined its
// paths. pNFS finds its own paths behind the first.
func checkTrunking(b *v1alpha1.NFSBenchmark, t Target) error {
	v := b.Spec.Protocol.Version
	if b.Spec.Database == nil || External(b) != nil || len(t.Paths) < 2 || v != bench.NFSv40 && v != bench.NFSv41 {
		return nil
	}
	return fmt.Errorf("%d paths with %s: Oracle's Direct NFS uses several paths with NFSv3 only; name one in "+
		"protocol.paths.explicit, or set protocol.version to NFSv3", len(t.Paths), v)
}

// serverName returns the label of the server block: the benchmark's name, or with Kerberos the server's full name,
// which its principal contains.
func serverName(b *v1alpha1.NFSBenchmark, t Target) string {
	if s := b.Spec.Protocol.Security; s == "" || s == bench.SecuritySys {
		return b.Name
	}
	names := slices.Clone(t.Addresses)
	for _, p := range t.Paths {
		names = append(names, p.Path)
	}
	for _, n := range names {
		if _, err := netip.ParseAddr(n); err != nil && strings.Contains(n, ".") {
			return n
		}
	}
	return b.Name
}

// seed returns the user's seed, or one derived from the object's UID, so that a second pass over the same object makes
// the same plan.
func seed(b *v1alpha1.NFSBenchmark) uint64 {
	if w := b.Spec.Workload.Raw; w != nil && w.Seed != nil {
		return uint64(*w.Seed) //nolint:gosec // the CRD bounds it
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(b.UID)) // never fails
	return h.Sum64()
}
