package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// clusterPort is where a node takes what other nodes send for a port of its
// D-blade; empty = no such port.
func clusterPort(port string) string {
	switch port {
	case "2049":
		return "12049"
	case "20048":
		return "12048"
	}
	return ""
}

// portAt is the port of a D-blade as seen from here: of another node it is the
// one where that takes it off the cluster link.
func (b *blade) portAt(node, port string) string {
	if there := clusterPort(port); node != b.node && there != "" {
		return there
	}
	return port
}

// serveCluster takes connections off the cluster link and joins each with one to
// the D-blade here, until the context ends. What comes from another node costs
// this one a second process, as the cluster session manager of ONTAP does.
func (b *blade) serveCluster(ctx context.Context, wg *sync.WaitGroup, port string) error {
	address := b.dblades[b.node]
	l, err := net.Listen("tcp", net.JoinHostPort(address, clusterPort(port)))
	if err != nil {
		return fmt.Errorf("listen on the cluster link: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // the context has ended, or accept of the LIFs fails as well
			}
			go b.join(ctx, from, net.JoinHostPort(address, port))
		}
	})
	return nil
}

// join copies between a connection and a new one until either ends.
func (b *blade) join(ctx context.Context, from net.Conn, address string) {
	defer func() { _ = from.Close() }()
	to, err := (&net.Dialer{Timeout: lastWords}).DialContext(ctx, "tcp", address)
	if err != nil {
		b.log.Warn("The D-blade is out of reach", "error", err)
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1]) // the ends tell of it themselves
			done <- struct{}{}
		}()
	}
	<-done
}
