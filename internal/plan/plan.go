package plan

import (
	"fmt"
	"hash/fnv"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// MountPath is where the pods of a run see the volume, and what the oranfstab
// names as its mount.
const MountPath = "/mnt/nfsbench"

const (
	callTimeoutSeconds   = 30
	collectMilliseconds  = 1000
	slowFillBytesPerSec  = 50_000_000 // slower than any storage that is worth a benchmark
	startAllowanceSecond = 180        // images, scheduling, mounts
)

// Build makes the plan of a benchmark on a target. The error is the user's:
// nothing but another spec can mend it.
func Build(b *v1alpha1.NFSBenchmark, t Target) (runfile.Plan, error) {
	engine, err := engine(b, t)
	if err != nil {
		return runfile.Plan{}, err
	}
	raw := raw(b)
	p := runfile.Plan{
		Version:  runfile.PlanVersion,
		Run:      runfile.Identity{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)},
		Clients:  max(b.Spec.Clients, 1),
		Engine:   engine,
		Workload: runfile.Workload{Raw: raw},
		Schedule: schedule(b.Spec.Run),
		Collect:  runfile.Collect{IntervalMilliseconds: collectMilliseconds, Sources: t.Sources},
		Survey:   t.Survey,
		Link:     link(b.Spec.Protocol.Link),
		Expect:   expect(b.Spec.Expect),
		Seed:     seed(b),
	}
	p.Schedule.TimeoutSeconds = timeout(b, p)
	if err := p.Validate(); err != nil {
		return runfile.Plan{}, fmt.Errorf("plan the run: %w", err)
	}
	return p, nil
}

func engine(b *v1alpha1.NFSBenchmark, t Target) (runfile.Engine, error) {
	pr := b.Spec.Protocol
	e := runfile.Engine{
		Client:              string(pr.Client),
		NFSVersion:          string(pr.Version),
		Security:            string(pr.Security),
		Export:              t.Export,
		MountTimeoutSeconds: pr.MountTimeoutSeconds,
		CallTimeoutSeconds:  callTimeoutSeconds,
		UserID:              credential(pr.UserID),
		GroupID:             credential(pr.GroupID),
		RequireNFS:          true,
	}
	if t.Survey != nil && pr.Paths != nil {
		e.PathSelection = string(pr.Paths.Select)
	}
	if pr.TransferSize != nil {
		e.TransferSizeBytes = pr.TransferSize.Value()
	}
	if pr.Client == v1alpha1.ClientKernel {
		e.MountPath = MountPath
		// The volume of a claim, or of a class that exists, has its own.
		if tr := b.Spec.Storage.Trident; b.Spec.Storage.Claim == nil && (tr == nil || tr.Backend != nil) {
			e.MountOptions = MountOptions(pr)
		}
		e.RequireNFS = b.Spec.Storage.Claim == nil || b.Spec.Storage.Claim.NonNFS != v1alpha1.NonNFSMeasure
		return e, nil
	}
	tab, err := Oranfstab(b, t)
	if err != nil {
		return runfile.Engine{}, err
	}
	e.Server, e.Oranfstab = b.Name, tab
	return e, nil
}

func credential(id *int64) *uint32 {
	if id == nil {
		return nil
	}
	v := uint32(*id) //nolint:gosec // the CRD bounds it
	return &v
}

// Oranfstab renders the file that Direct NFS reads, with one server block that
// is named as the benchmark.
func Oranfstab(b *v1alpha1.NFSBenchmark, t Target) (string, error) {
	pr := b.Spec.Protocol
	timeout := pr.MountTimeoutSeconds
	s := oranfstab.Server{
		Name:                b.Name,
		DontRoute:           pr.DoNotRoute == v1alpha1.Enabled,
		Version:             oranfstabVersion(pr.Version),
		MountTimeoutSeconds: &timeout,
		Exports:             []oranfstab.Export{{Path: t.Export, Mount: MountPath}},
	}
	for _, p := range t.Paths {
		s.Paths = append(s.Paths, oranfstab.PathPair{Local: p.Local, Path: p.Path})
	}
	tab, err := oranfstab.Render(oranfstab.File{Servers: []oranfstab.Server{s}})
	if err != nil {
		return "", fmt.Errorf("write the oranfstab: %w", err)
	}
	return tab, nil
}

func oranfstabVersion(v v1alpha1.NFSVersion) oranfstab.Version {
	switch v {
	case v1alpha1.NFSv40:
		return oranfstab.NFSv4
	case v1alpha1.NFSv41:
		return oranfstab.NFSv41
	case v1alpha1.PNFS:
		return oranfstab.PNFS
	default:
		return oranfstab.NFSv3
	}
}

func raw(b *v1alpha1.NFSBenchmark) *runfile.Raw {
	w := b.Spec.Workload.Raw
	if w == nil {
		return nil
	}
	r := &runfile.Raw{
		Pattern:           string(w.Pattern),
		BlockSizeBytes:    w.BlockSize.Value(),
		FileSizeBytes:     w.FileSize.Value(),
		Jobs:              w.Jobs,
		Depth:             w.Depth,
		Directory:         w.Directory,
		OverwriteExisting: w.ForeignFiles == v1alpha1.ForeignFilesOverwrite,
		KeepFiles:         b.Spec.Cleanup.OnSuccess == v1alpha1.CleanupRetain,
	}
	if w.OperationsPerSecond != nil {
		r.OperationsPerSecond = *w.OperationsPerSecond
	}
	return r
}

func schedule(r v1alpha1.Run) runfile.Schedule {
	return runfile.Schedule{
		BaselineSeconds: orZero(r.BaselineSeconds),
		WarmupSeconds:   orZero(r.WarmupSeconds),
		DurationSeconds: r.DurationSeconds,
		CooldownSeconds: orZero(r.CooldownSeconds),
		Repetitions:     max(r.Repetitions, 1),
	}
}

func orZero(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

// timeout is what the user asked for, or what all parts need if the storage is
// slow: a run must end by itself even when nothing answers any more.
func timeout(b *v1alpha1.NFSBenchmark, p runfile.Plan) int32 {
	if t := b.Spec.Run.TimeoutSeconds; t != nil {
		return *t
	}
	s := p.Schedule
	parts := s.Repetitions * (s.BaselineSeconds + s.WarmupSeconds + s.DurationSeconds + s.CooldownSeconds)
	return parts + fillSeconds(p) + startAllowanceSecond + p.Engine.MountTimeoutSeconds
}

func fillSeconds(p runfile.Plan) int32 {
	r := p.Workload.Raw
	if r == nil {
		return 0
	}
	// Seconds of one file first: the bytes of all may not fit in 64 bits.
	seconds := float64(r.FileSizeBytes) / slowFillBytesPerSec * float64(r.Jobs) * float64(p.Clients)
	if r.Pattern == runfile.PatternCopy {
		seconds *= 2
	}
	const day = 86400
	return int32(min(seconds, day))
}

func link(l *v1alpha1.Link) *runfile.Link {
	if l == nil {
		return nil
	}
	return &runfile.Link{BitsPerSecond: l.BitsPerSecond.Value(), MTUBytes: l.MTU}
}

func expect(e *v1alpha1.Expect) *runfile.Expect {
	if e == nil {
		return nil
	}
	x := runfile.Expect(*e)
	return &x
}

// seed is the user's, or one that the object's identity gives, so that a second
// pass over the same object comes to the same plan.
func seed(b *v1alpha1.NFSBenchmark) uint64 {
	if w := b.Spec.Workload.Raw; w != nil && w.Seed != nil {
		return uint64(*w.Seed) //nolint:gosec // the CRD bounds it
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(b.UID)) // never fails
	return h.Sum64()
}
