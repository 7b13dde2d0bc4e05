package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/nfsbench/nfsbench/test/array/control"
)

// takeOrders serves package control on a socket until the context ends.
func (b *blade) takeOrders(ctx context.Context, socket string, failed context.CancelCauseFunc) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(b.counts())
	})
	mux.HandleFunc("POST /{order}", func(w http.ResponseWriter, r *http.Request) {
		var o control.Order
		err := json.NewDecoder(r.Body).Decode(&o)
		if err == nil {
			err = b.obey(r.Context(), r.PathValue("order"), o)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	go func() { failed(srv.Serve(l)) }()
	return nil
}

func (b *blade) obey(ctx context.Context, order string, o control.Order) error {
	switch order {
	case "add":
		return b.volumes.add(o.Volume)
	case "remove":
		return b.volumes.remove(o.Volume.Name)
	}
	v, err := b.volumes.named(o.Volume.Name)
	if err != nil {
		return err
	}
	if order == "release" {
		v.release(o.Volume.Owner)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.Milliseconds)*time.Millisecond)
	defer cancel()
	return v.hold(ctx)
}
