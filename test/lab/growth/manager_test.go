package growth

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// manager is the real manager, as a process.
type manager struct {
	*process

	url string
}

// metrics are the sums over all labels of what the manager reports about itself.
type metrics map[string]float64

// The metrics that matter here.
const (
	metricReconciles = "controller_runtime_reconcile_total"
	metricErrors     = "controller_runtime_reconcile_errors_total"
	metricRequests   = "rest_client_requests_total"
	metricDepth      = "workqueue_depth"
	metricUnfinished = "workqueue_unfinished_work_seconds"
	metricGoroutines = "go_goroutines"
	metricNextGC     = "go_memstats_next_gc_bytes"
	metricGOGC       = "go_gc_gogc_percent"
)

func (m *manager) scrape() (metrics, error) {
	res, err := http.Get(m.url) //nolint:noctx // of our own child, which ends with us
	if err != nil {
		return nil, fmt.Errorf("scrape the manager: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	out := metrics{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		// A label may hold a space; the value is what follows the last one.
		value = value[strings.LastIndexByte(value, ' ')+1:]
		name, _, _ = strings.Cut(name, "{")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s of the manager: %w", name, err)
		}
		out[name] += n
	}
	if _, ok := out[metricReconciles]; !ok {
		return nil, errors.New("the manager does not yet count reconciles")
	}
	return out, lines.Err()
}

func (m *manager) metrics(t *testing.T) metrics {
	t.Helper()
	out, err := m.scrape()
	if err != nil {
		t.Fatalf("%v\n%s", err, m.tail(10))
	}
	return out
}

// idle waits until the manager has nothing to do and has not worked for a while,
// and returns its metrics then.
func (m *manager) idle(t *testing.T) metrics {
	t.Helper()
	const quiet = 15 // polls of 100 ms
	last, calm := m.metrics(t), 0
	eventually(t, 2*time.Minute, "the manager is idle", func() bool {
		now := m.metrics(t)
		if now[metricReconciles] == last[metricReconciles] && now[metricDepth] == 0 && now[metricUnfinished] == 0 {
			calm++
		} else {
			calm = 0
		}
		last = now
		return calm >= quiet
	})
	return last
}
