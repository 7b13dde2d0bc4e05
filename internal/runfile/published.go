package runfile

import (
	"bytes"
	"errors"
	"fmt"
)

// mostInList is above the length of any list of a storage or a client.
const mostInList = 4096

// ReadPublished reads the results that the clients of a run have published under their ResultKeys. Pods wrote
// them, perhaps with an image of a stranger, so all clients share one budget. plan is the plan of the run;
// nil = the plan of the first client. ReadPublished omits clients without a result and clients with an
// unusable result. The error names the unusable results. It may be or contain a *VersionError.
func ReadPublished(data map[string][]byte, clients int32, plan *Plan) (Result, error) {
	r, left := Result{Version: ResultVersion}, BenchmarkBudget()
	if plan != nil {
		r.Plan = *plan
	}
	var errs []error
	for i := range max(clients, 1) {
		packed, ok := data[ResultKey(i)]
		if !ok {
			continue
		}
		part, err := readResult(bytes.NewReader(packed), &left)
		if err == nil && plan == nil {
			r.Plan, plan = part.Plan, &part.Plan
		}
		if err == nil {
			err = checkPublished(part, r.Plan)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("key %q: %w", ResultKey(i), err))
			continue
		}
		r.Simulated = r.Simulated || part.Simulated
		part.Clients[0].Index = i // a client has the number of its key
		r.Clients = append(r.Clients, part.Clients[0])
	}
	return r, errors.Join(errs...)
}

// checkPublished returns an error for the result of another run, for more windows than the plan has, and for
// long lists, because the time for judging grows with the square of their length.
func checkPublished(part Result, p Plan) error {
	switch {
	case len(part.Clients) != 1:
		return fmt.Errorf("it has %d clients and not one", len(part.Clients))
	case part.Plan.Run != p.Run:
		return fmt.Errorf("it is of another run, %+v", part.Plan.Run)
	case int64(len(part.Clients[0].Load.Repetitions)) > p.ScheduledSteps().Count:
		return fmt.Errorf("it has %d windows, more than its plan", len(part.Clients[0].Load.Repetitions))
	case longestList(part.Clients[0]) > mostInList:
		return fmt.Errorf("it has a list of more than %d elements", mostInList)
	}
	return nil
}

// longestList returns the length of the longest list that judging, or a report, compares with itself or with another.
func longestList(c ClientResult) (n int) {
	for _, r := range c.Load.Repetitions {
		n = max(n, len(r.Channels), len(r.Servers))
		if o := r.Oracle; o != nil {
			n = max(n, len(o.DirectNFS.Channels), len(o.DirectNFS.Servers))
		}
	}
	if o := c.Load.Oracle; o != nil {
		n = max(n, len(o.Instances))
	}
	if c.Observed == nil {
		return n
	}
	n = max(n, len(c.Observed.Problems), len(c.Observed.Interfaces))
	for _, s := range c.Observed.Storage {
		n = max(n, len(s.Nodes), len(s.Paths))
	}
	for _, w := range c.Observed.Windows {
		n = max(n, len(w.Storage))
		for _, s := range w.Storage {
			n = max(n, len(s.Nodes), len(s.Paths), len(s.VolumeNodes))
		}
	}
	return n
}
