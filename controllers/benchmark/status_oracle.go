package benchmark

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// The longest lists of what a database says. The result object has all.
const (
	maxSteps      = 64
	maxInstances  = 32
	maxParameters = 64
	maxServers    = 32
	maxChannels   = 64
	maxFiles      = 64
	maxRuns       = 64 // of a calibrate workload
)

// setDatabase copies what the pods report about the database, and its counters once
// they are judged.
func setDatabase(s *scope) {
	st := &v1alpha1.DatabaseStatus{}
	if o := oracleOf(s.result); o != nil {
		foundOf(st, *o)
	}
	if j := s.judgement; j != nil {
		st.Calibrations = calibrations(j.Calibrations)
		if d := j.Database; d != nil {
			st.Servers, st.Channels, st.Files = directServers(d.Servers), directChannels(d.Channels), databaseFiles(d.Files)
		}
	}
	if !equality.Semantic.DeepEqual(*st, v1alpha1.DatabaseStatus{}) {
		s.b.Status.Database = st
	}
}

// oracleOf is the database of a run, which has one client.
func oracleOf(r *runfile.Result) *runfile.Oracle {
	if r == nil {
		return nil
	}
	for _, c := range r.Clients {
		if c.Load.Oracle != nil {
			return c.Load.Oracle
		}
	}
	return nil
}

func foundOf(st *v1alpha1.DatabaseStatus, o runfile.Oracle) {
	st.Banner = statussize.ClipTo(statussize.OneLine(o.Banner), 256)
	for _, i := range o.Instances[:min(len(o.Instances), maxInstances)] {
		st.Instances = append(st.Instances, statussize.ClipTo(i.Name, 64))
	}
	if o.ReadyMilliseconds != nil {
		st.ProvisioningSeconds = new((*o.ReadyMilliseconds + 500) / 1000)
	}
	if o.Library != nil {
		st.DirectNFSLibrary = statussize.ClipTo(statussize.OneLine(o.Library.AlertLine), 256)
	}
	for _, p := range o.Parameters {
		name := statussize.ClipTo(p.Name, 80)
		known := slices.ContainsFunc(st.Parameters, func(k v1alpha1.DatabaseParameter) bool { return k.Name == name })
		if p.Requested == "" || known || len(st.Parameters) == maxParameters {
			continue // the name is the key of the list
		}
		st.Parameters = append(st.Parameters, v1alpha1.DatabaseParameter{Name: name, Value: statussize.ClipTo(p.Value, 512)})
	}
}

func calibrations(all []judge.CalibrationSummary) []v1alpha1.CalibrationStatus {
	var out []v1alpha1.CalibrationStatus
	for _, c := range all[:min(len(all), maxRuns)] {
		out = append(out, v1alpha1.CalibrationStatus(c))
	}
	return out
}

func directServers(all []runfile.DNFSServer) []v1alpha1.DirectNFSServer {
	var out []v1alpha1.DirectNFSServer
	for _, s := range all[:min(len(all), maxServers)] {
		out = append(out, v1alpha1.DirectNFSServer{Server: statussize.ClipTo(s.Server, 255), Export: statussize.ClipTo(s.Export, 1024), Version: statussize.ClipTo(s.Version, 32)})
	}
	return out
}

// directChannels are those with most traffic first, for the end may be cut off.
func directChannels(all []runfile.DNFSChannel) []v1alpha1.DirectNFSChannel {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b runfile.DNFSChannel) int {
		return cmp.Compare(b.Sends+b.Receives, a.Sends+a.Receives)
	})
	var out []v1alpha1.DirectNFSChannel
	for _, c := range all[:min(len(all), maxChannels)] {
		out = append(out, v1alpha1.DirectNFSChannel{
			Server: statussize.ClipTo(c.Server, 255), Path: statussize.ClipTo(c.Path, 253), Local: statussize.ClipTo(c.Local, 64), Instance: c.Instance,
			Sends: new(c.Sends), Receives: new(c.Receives),
		})
	}
	return out
}

// databaseFiles are those that were read most first.
func databaseFiles(all []judge.DatabaseFile) []v1alpha1.DatabaseFile {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b judge.DatabaseFile) int {
		return cmp.Compare(orZero(b.SmallReads), orZero(a.SmallReads))
	})
	var out []v1alpha1.DatabaseFile
	for _, f := range all[:min(len(all), maxFiles)] {
		file := v1alpha1.DatabaseFile(f)
		file.AccessMethod = statussize.ClipTo(f.AccessMethod, 32)
		out = append(out, file)
	}
	return out
}

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// steps are the levels of load in the order in which they were gone through.
func steps(all []judge.StepSummary) []v1alpha1.StepStatus {
	var out []v1alpha1.StepStatus
	for _, s := range all {
		t := s.Summary.Total
		st := v1alpha1.StepStatus{
			Kind: statussize.ClipTo(s.Kind, 32), Users: s.Users, Knee: s.Knee,
			ThroughputBytesPerSecond: known(t.BytesPerSecond), IOPS: known(t.OperationsPerSecond),
		}
		if l := t.Latency; l != nil {
			st.MeanLatencyMicroseconds, st.P99LatencyMicroseconds = new(l.MeanMicroseconds), p99Of(l)
		}
		if s.WirePermille != nil {
			st.WirePercent = new((*s.WirePermille + 5) / 10)
		}
		out = append(out, st)
	}
	for len(out) > maxSteps {
		out = thinner(out)
	}
	return out
}

// thinner leaves out one level of load: of those between the first and the last
// that are not the knee, the one whose neighbours are nearest, so that the course
// of the curve stays.
func thinner(all []v1alpha1.StepStatus) []v1alpha1.StepStatus {
	at, nearest := -1, 0.0
	for i := 1; i < len(all)-1; i++ {
		if all[i].Knee || all[i-1].Kind != all[i].Kind || all[i+1].Kind != all[i].Kind {
			continue
		}
		distance := float64(all[i+1].Users) / float64(max(all[i-1].Users, 1))
		if at < 0 || distance < nearest {
			at, nearest = i, distance
		}
	}
	if at < 0 {
		return statussize.Shorter(all)
	}
	return slices.Delete(slices.Clone(all), at, at+1)
}
