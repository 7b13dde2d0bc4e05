package nfs

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// Stream carries the I/O of one job over connections of its own, at least one
// per channel, at the least cost per operation; see package stream.
// Client.Channels includes its counts.
type Stream struct {
	*stream.Stream
	c        *Client
	channels []*channel // of the threads
	release  func()     // releases the protocol's resources
}

// StreamConfig configures a Stream.
type StreamConfig struct {
	// Slots is the maximum number of outstanding I/Os, each of at most BlockBytes.
	Slots      int
	BlockBytes int64
	// Connections is the number of connections per channel; 1 if 0.
	Connections int
}

// NewStream connects a Stream. One connection is enough.
func (c *Client) NewStream(ctx context.Context, cfg StreamConfig) (*Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.MountTimeout)
	defer cancel()
	connections := max(cfg.Connections, 1)
	var threads []*channel
	for range connections {
		threads = append(threads, c.channels...)
	}
	config := stream.Config{
		Dial: func(ctx context.Context, thread int) (net.Conn, error) {
			ch := threads[thread]
			return dial(ctx, ch.addr, ch.port, ch.dontRoute)
		},
		Describe: func(thread int) string { return threads[thread].describe() },
		Slots:    cfg.Slots, BlockBytes: cfg.BlockBytes,
		ReadBytes: c.info.TransferReadBytes, WriteBytes: c.info.TransferWriteBytes,
		Timeout: c.cfg.CallTimeout, Now: c.cfg.Now, Logger: c.cfg.Logger,
	}
	threads, release, err := c.proto.prepare(ctx, &config, threads, connections)
	if err != nil {
		return nil, fmt.Errorf("open a stream of %s: %w", c.cfg.Export, err)
	}
	config.Threads = len(threads)
	inner, err := stream.New(ctx, config)
	if err != nil {
		release()
		return nil, fmt.Errorf("open a stream of %s: %w", c.cfg.Export, err)
	}
	s := &Stream{Stream: inner, c: c, channels: threads, release: release}
	c.streamsMu.Lock()
	c.streams = append(c.streams, s)
	c.streamsMu.Unlock()
	return s, nil
}

// Path returns the name of a thread's channel.
func (s *Stream) Path(thread int) string { return s.channels[thread].describe() }

// Close ends the connections. The counts remain. A second Close does nothing.
func (s *Stream) Close() error {
	s.c.streamsMu.Lock()
	defer s.c.streamsMu.Unlock()
	i := slices.Index(s.c.streams, s)
	if i < 0 {
		return nil
	}
	err := s.Stream.Close()
	s.release()
	s.c.streams = slices.Delete(s.c.streams, i, i+1)
	for thread := range s.Threads() {
		t, _ := s.Traffic(thread)
		s.channels[thread].ended.Add(t)
	}
	return err
}

// withStreams adds the traffic of streams over a channel.
func (c *Client) withStreams(ch *channel, s ChannelStats) ChannelStats {
	c.streamsMu.Lock()
	defer c.streamsMu.Unlock()
	s.Add(ch.ended)
	for _, st := range c.streams {
		for thread, its := range st.channels {
			if its != ch {
				continue
			}
			t, up := st.Traffic(thread)
			if s.Add(t); !up && s.State == ChannelUp {
				s.State = ChannelReconnecting
			}
		}
	}
	return s
}
