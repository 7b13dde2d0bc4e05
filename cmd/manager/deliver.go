package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nfsbench/nfsbench/internal/deliver"
)

// deliverResults sends the results of finished runs to the bucket of --results. It reads the
// file now, so that a mistake in it ends an upgrade.
func deliverResults(mgr ctrl.Manager, o options) error {
	if o.results == "" {
		return nil
	}
	config, err := deliver.Open(o.results)
	if err != nil {
		return err
	}
	return deliver.AddTo(mgr, config, o.suites)
}
