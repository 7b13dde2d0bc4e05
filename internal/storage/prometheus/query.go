package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxSeries bounds what one answer may hold: a cluster has 24 nodes and some hundred LIFs.
const maxSeries = 10000

// result is the data of an answer.
type result struct {
	Type  string          `json:"resultType"`
	Value json.RawMessage `json:"result"`
}

// query evaluates an expression, at a moment if that is not 0, and gives its data.
func (s *Source) query(ctx context.Context, expression string, at model.Time) (result, error) {
	q := url.Values{"query": {expression}}
	if at != 0 {
		q.Set("time", at.String())
	}
	var doc struct {
		Data result `json:"data"`
	}
	_, err := s.client.Get(ctx, "/api/v1/query", q, &doc)
	return doc.Data, err
}

// matrix reads series with all their samples.
func (r result) matrix() (model.Matrix, error) {
	if r.Type != "matrix" {
		return nil, storage.Permanent(fmt.Errorf("the answer is a %q and no range of samples", r.Type))
	}
	var m model.Matrix
	if err := json.Unmarshal(r.Value, &m); err != nil {
		return nil, storage.Permanent(fmt.Errorf("the answer is not what was expected there: %w", err))
	}
	if slices.Contains(m, nil) {
		return nil, storage.Permanent(errors.New("the answer holds a series that is null"))
	}
	if len(m) > maxSeries {
		return nil, storage.Permanent(fmt.Errorf("the answer holds %d series, more than %d", len(m), maxSeries))
	}
	return m, nil
}

// vector reads one sample of each series. A scalar is a series without labels.
func (r result) vector() (model.Vector, error) {
	var v model.Vector
	var err error
	switch r.Type {
	case "vector":
		err = json.Unmarshal(r.Value, &v)
	case "scalar":
		var one model.Scalar
		err = json.Unmarshal(r.Value, &one)
		v = model.Vector{{Metric: model.Metric{}, Value: one.Value, Timestamp: one.Timestamp}}
	default:
		return nil, storage.Permanent(fmt.Errorf("it gives a %s, and must give one value for each series, such as "+
			"rate(...) does", r.Type))
	}
	if err != nil {
		return nil, storage.Permanent(fmt.Errorf("the answer is not what was expected there: %w", err))
	}
	if slices.Contains(v, nil) {
		return nil, storage.Permanent(errors.New("the answer holds a series that is null"))
	}
	if len(v) > maxSeries {
		return nil, storage.Permanent(fmt.Errorf("it gives %d series, more than %d", len(v), maxSeries))
	}
	return v, nil
}

// number is nil for what is none: rate() of too few samples, 0/0.
func number(v model.SampleValue) *float64 {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// plausible reports whether a time is one of Prometheus and can be written as one.
func plausible(t model.Time) bool { return t > 0 && t < 253402300799000 }
