package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/storage/integrate"
)

// The labels of Harvest.
const (
	labelCluster = "cluster"
	labelSVM     = "svm"
	labelVolume  = "volume"
	labelNode    = "node"
	labelLIF     = "lif"
	labelAddress = "address"
	// labelDatacenter comes from Harvest and distinguishes clusters of the same name.
	labelDatacenter = "datacenter"
)

// The metrics of Harvest for the CPU of a node, in percent.
const (
	cpuMean = "node_avg_processor_busy"
	cpuBusy = "node_cpu_busy"
)

// harvest reads the metrics of NetApp Harvest.
type harvest struct {
	source               *Source
	volumes, nodes, lifs string // selectors; empty = do not read
}

func newHarvest(s *Source, labels map[string]string) (*harvest, error) {
	if labels[labelCluster] == "" {
		return nil, fmt.Errorf("neither queries nor a label cluster are given")
	}
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	for l := range labels {
		if !name.MatchString(l) {
			return nil, fmt.Errorf("%q is no name of a label", l)
		}
	}
	without := func(drop ...string) map[string]string {
		kept := maps.Clone(labels)
		maps.DeleteFunc(kept, func(k, _ string) bool { return slices.Contains(drop, k) })
		return kept
	}
	h := &harvest{source: s, nodes: selector(without(labelSVM, labelVolume), cpuMean, cpuBusy)}
	if labels[labelSVM] != "" {
		h.lifs = selector(without(labelVolume), "lif_recv_data", "lif_sent_data", "lif_labels")
		if labels[labelVolume] != "" {
			h.volumes = selector(labels, slices.Collect(maps.Keys(volumeMetrics()))...)
		}
	}
	return h, nil
}

// selector returns a PromQL range selector over the time that can be bridged. PromQL quotes strings like Go,
// so the value of a label cannot change the expression.
func selector(labels map[string]string, metrics ...string) string {
	slices.Sort(metrics)
	matchers := []string{`__name__=~"` + strings.Join(metrics, "|") + `"`}
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		matchers = append(matchers, l+"="+strconv.Quote(labels[l]))
	}
	return "{" + strings.Join(matchers, ",") + "}[" + strconv.Itoa(int(bridge.Seconds())) + "s]"
}

// volumeMetrics maps the metrics of a volume to rates: operations and bytes per second, and microseconds.
func volumeMetrics() map[string]func(*integrate.Rates) **float64 {
	return map[string]func(*integrate.Rates) **float64{
		"volume_read_ops":      func(r *integrate.Rates) **float64 { return &r.ReadOps },
		"volume_write_ops":     func(r *integrate.Rates) **float64 { return &r.WriteOps },
		"volume_other_ops":     func(r *integrate.Rates) **float64 { return &r.OtherOps },
		"volume_read_data":     func(r *integrate.Rates) **float64 { return &r.ReadBytes },
		"volume_write_data":    func(r *integrate.Rates) **float64 { return &r.WrittenBytes },
		"volume_read_latency":  func(r *integrate.Rates) **float64 { return &r.ReadLatency },
		"volume_write_latency": func(r *integrate.Rates) **float64 { return &r.WriteLatency },
	}
}

func (h *harvest) gather(ctx context.Context) (answer, error) {
	var a answer
	read := map[string][]*stream{}
	for _, s := range []string{h.volumes, h.nodes, h.lifs} {
		if s == "" {
			continue
		}
		r, err := h.source.query(ctx, s, 0)
		if err == nil {
			read[s], err = r.matrix()
		}
		if err == nil {
			err = oneDatacenter(read[s])
		}
		if err != nil {
			return answer{}, fmt.Errorf("ask for %s: %w", s, err)
		}
	}
	wanted := cmp.Or(h.volumes, h.nodes)
	if len(read[wanted]) == 0 {
		return answer{}, fmt.Errorf("no series match %s: compare the labels with those that Harvest exports", wanted)
	}
	var errs [3]error
	seen := h.source.seen(read)
	a.Total, a.owner, errs[0] = volumeRates(read[h.volumes], seen)
	a.Nodes, errs[1] = busyNodes(read[h.nodes], seen, h.source.chooseCPU(read[h.nodes]))
	a.Paths, errs[2] = lifRates(read[h.lifs], seen)
	if err := errors.Join(errs[:]...); err != nil {
		return answer{}, err
	}
	return a, nil
}

// oneDatacenter returns an error for series of two clusters that have the same name.
func oneDatacenter(m []*stream) error {
	for _, series := range m {
		if a, b := m[0].Metric[labelDatacenter], series.Metric[labelDatacenter]; a != b {
			return fmt.Errorf("the series are of two data centers, %q and %q: choose with queries of your own", a, b)
		}
	}
	return nil
}

// chooseCPU returns the metric for the CPU. The first choice holds for the life of the source.
func (s *Source) chooseCPU(m []*stream) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, series := range m {
		if s.cpuMetric != "" {
			break
		}
		if series.Metric[model.MetricNameLabel] == cpuMean {
			s.cpuMetric = cpuMean
		}
	}
	if s.cpuMetric == "" && len(m) > 0 {
		s.cpuMetric = cpuBusy
	}
	return s.cpuMetric
}

// times holds the scrape times of each series, in ascending order.
type times map[model.Fingerprint][]model.Time

// seen adds the times of an answer to those of earlier answers, and forgets series that the answer lacks. One
// window may hold only one sample of a series and cannot show which of two series is older.
func (s *Source) seen(matrices map[string][]*stream) times {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := times{}
	for _, m := range matrices {
		for _, series := range m {
			id := series.Metric.Fingerprint()
			all := slices.Clone(s.times[id])
			for _, v := range series.Values {
				if plausible(v.Timestamp) {
					all = append(all, v.Timestamp)
				}
			}
			slices.Sort(all)
			all = slices.Compact(all)
			now[id] = slices.DeleteFunc(all, func(t model.Time) bool { return all[len(all)-1].Sub(t) > 2*bridge })
		}
	}
	s.times = now
	return now
}

// soonest is shorter than any interval of scrapes of Harvest.
const soonest = 10_000 // ms

// meet reports whether a scrape of one series lies between two neighbors of the other. Neighbors are one step
// apart: a longer gap is the time that a volume spent on another node. Two single scrapes have no step; they
// meet if no other scrape fits between them.
func meet(a, b []model.Time) bool {
	if len(a) == 1 && len(b) == 1 {
		return max(a[0]-b[0], b[0]-a[0]) < soonest
	}
	step := model.Latest
	for _, all := range [][]model.Time{a, b} {
		for i := 1; i < len(all); i++ {
			step = min(step, all[i]-all[i-1])
		}
	}
	for _, both := range [][2][]model.Time{{a, b}, {b, a}} {
		other := both[1]
		for _, t := range both[0] {
			i, same := slices.BinarySearch(other, t)
			if same || i > 0 && i < len(other) && 2*(other[i]-other[i-1]) < 3*step {
				return true
			}
		}
	}
	return false
}

// mostSeries bounds the series of one metric and one object, because each is compared with all others. An object has
// one for each poller and each node that it was on.
const mostSeries = 64

// rows collects the values of one object by time: values of the same scrape have the same time.
type rows struct {
	times  times
	at     map[model.Time]*integrate.Rates
	series map[model.LabelValue][]*stream // of each metric
}

func newRows(t times) *rows {
	return &rows{times: t, at: map[model.Time]*integrate.Rates{}, series: map[model.LabelValue][]*stream{}}
}

// set puts the values of a series into their rows. Two series may have values of one object at one time only
// if they are two scrapes of the same values. For any other pair set returns an error, because it cannot know
// which series is right.
func (r *rows) set(series *stream, field func(*integrate.Rates) **float64) error {
	name, values := series.Metric[model.MetricNameLabel], series.Values
	values = slices.DeleteFunc(slices.Clone(values), func(v pair) bool {
		return !plausible(v.Timestamp) || number(v.Value) == nil
	})
	series = &stream{Metric: series.Metric, Values: values}
	if len(r.series[name]) >= mostSeries {
		return fmt.Errorf("there are more than %d series of %s for one thing: give queries of your own", mostSeries, name)
	}
	for _, other := range r.series[name] {
		labels := differing(other.Metric, series.Metric)
		if !meet(r.times[other.Metric.Fingerprint()], r.times[series.Metric.Fingerprint()]) ||
			scraping(labels) && agree(other.Values, values) {
			continue
		}
		return fmt.Errorf("two series of %s give one thing at one time, and are not the same (labels that differ: %s): "+
			"they may be of a FlexGroup's members, or two pollers read other values: give queries of your own, which sum "+
			"them or choose one",
			name, cmp.Or(strings.Join(labels, ", "), "none"))
	}
	r.series[name] = append(r.series[name], series)
	for _, v := range values {
		if r.at[v.Timestamp] == nil {
			r.at[v.Timestamp] = &integrate.Rates{Time: v.Timestamp.Time().UTC()}
		}
		*field(r.at[v.Timestamp]) = number(v.Value)
	}
	return nil
}

// differing returns the labels in which two series differ.
func differing(a, b model.Metric) []string {
	var labels []string
	for _, m := range []model.Metric{a, b} {
		for l := range m {
			if a[l] != b[l] && !slices.Contains(labels, string(l)) {
				labels = append(labels, string(l))
			}
		}
	}
	slices.Sort(labels)
	return labels
}

// scraping reports whether the labels only name the reader of a value.
func scraping(labels []string) bool {
	of := []string{
		model.JobLabel, model.InstanceLabel, "poller", "pod", "container", "endpoint", "service", "namespace",
		"prometheus_replica", "replica",
	}
	return !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(of, l) })
}

// agree reports whether each value of two scrapes equals the value of the other scrape before or after it. A
// value at an end may be newer than the other scrape, if all other values agree.
func agree(a, b []pair) bool {
	inside, ends := false, true
	for _, both := range [][2][]pair{{a, b}, {b, a}} {
		scrapes := both[1]
		for _, v := range both[0] {
			to, same := slices.BinarySearchFunc(scrapes, v.Timestamp, func(s pair, t model.Time) int {
				return cmp.Compare(s.Timestamp, t)
			})
			near := scrapes[max(0, to-1):min(to+1, len(scrapes))]
			if same {
				near = scrapes[to : to+1]
			}
			equal := slices.ContainsFunc(near, func(s pair) bool { return s.Value == v.Value })
			switch {
			case !same && (to == 0 || to == len(scrapes)):
				ends = ends && equal
			case !equal:
				return false
			default:
				inside = true
			}
		}
	}
	return ends || inside
}

func (r *rows) rates() []integrate.Rates {
	var all []integrate.Rates
	for _, t := range slices.Sorted(maps.Keys(r.at)) {
		all = append(all, *r.at[t])
	}
	return all
}

// volumeRates joins the series of a volume. A volume that was moved has several.
func volumeRates(m []*stream, seen times) (rates []integrate.Rates, owner string, err error) {
	all, metrics := newRows(seen), volumeMetrics()
	var newest model.Time
	for _, series := range m {
		field := metrics[string(series.Metric[model.MetricNameLabel])]
		if field == nil || len(series.Values) == 0 {
			continue
		}
		if err := all.set(series, field); err != nil {
			return nil, "", err
		}
		if last := series.Values[len(series.Values)-1].Timestamp; last > newest {
			newest, owner = last, string(series.Metric[labelNode])
		}
	}
	return all.rates(), owner, nil
}

func busyNodes(m []*stream, seen times, metric string) ([]integrate.Node, error) {
	busy := map[string]*rows{}
	for _, series := range m {
		name := string(series.Metric[labelNode])
		if string(series.Metric[model.MetricNameLabel]) != metric || name == "" {
			continue
		}
		if busy[name] == nil {
			busy[name] = newRows(seen)
		}
		field := func(r *integrate.Rates) **float64 { return &r.BusyPercent }
		if err := busy[name].set(series, field); err != nil {
			return nil, err
		}
	}
	var nodes []integrate.Node
	for _, name := range slices.Sorted(maps.Keys(busy)) {
		if rates := busy[name].rates(); len(rates) > 0 {
			nodes = append(nodes, integrate.Node{Name: name, Rates: rates})
		}
	}
	return nodes, nil
}

// lif holds the data from the series of a LIF.
type lif struct {
	node, address   string
	newest, labeled model.Time
	rows            *rows
}

// add takes in a series that has samples. Bytes that a LIF sent count as read.
func (l *lif) add(series *stream) error {
	last := series.Values[len(series.Values)-1].Timestamp
	field := func(r *integrate.Rates) **float64 { return &r.ReadBytes }
	switch series.Metric[model.MetricNameLabel] {
	case "lif_labels":
		if last > l.labeled {
			l.labeled, l.address = last, string(series.Metric[labelAddress])
		}
		return nil
	case "lif_recv_data":
		field = func(r *integrate.Rates) **float64 { return &r.WrittenBytes }
	}
	if last > l.newest {
		l.newest, l.node = last, string(series.Metric[labelNode])
	}
	return l.rows.set(series, field)
}

// lifRates identifies each LIF by its address, or by its name if Harvest has no address.
func lifRates(m []*stream, seen times) ([]integrate.Path, error) {
	lifs := map[string]*lif{}
	for _, series := range m {
		name := string(series.Metric[labelLIF])
		if name == "" || len(series.Values) == 0 {
			continue
		}
		if lifs[name] == nil {
			lifs[name] = &lif{rows: newRows(seen)}
		}
		if err := lifs[name].add(series); err != nil {
			return nil, err
		}
	}
	var paths []integrate.Path
	for _, name := range slices.Sorted(maps.Keys(lifs)) {
		l := lifs[name]
		if len(l.rows.at) > 0 {
			paths = append(paths, integrate.Path{
				Address: cmp.Or(l.address, name), Name: name, Node: l.node,
				Rates: l.rows.rates(),
			})
		}
	}
	return paths, nil
}
