package ontap

import (
	"context"
	"slices"
	"sync"
)

// Scripted is a Truth that says what a test told it. The zero Scripted counts
// nothing and moves at once; its methods may be called at once.
type Scripted struct {
	mu      sync.Mutex
	nodes   map[string]NodeCounters
	lifs    map[string]LIFCounters
	volumes map[string]VolumeCounters
	clients []Client
	onMove  func(ctx context.Context, volume, node string) error
	moves   []string
}

// SetNode sets what a controller has counted.
func (s *Scripted) SetNode(name string, c NodeCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]NodeCounters{}
	}
	s.nodes[name] = c
}

// SetLIF sets what a data address has counted.
func (s *Scripted) SetLIF(address string, c LIFCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lifs == nil {
		s.lifs = map[string]LIFCounters{}
	}
	s.lifs[address] = c
}

// SetVolume sets what a volume has counted.
func (s *Scripted) SetVolume(name string, c VolumeCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.volumes == nil {
		s.volumes = map[string]VolumeCounters{}
	}
	s.volumes[name] = c
}

// SetClients sets who is connected.
func (s *Scripted) SetClients(c ...Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = slices.Clone(c)
}

// OnMove makes move the one that moves volumes.
func (s *Scripted) OnMove(move func(ctx context.Context, volume, node string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onMove = move
}

// Moves are the moves that were asked for, each as "volume to node".
func (s *Scripted) Moves() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.moves)
}

// Node says what SetNode set.
func (s *Scripted) Node(name string) NodeCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[name]
}

// LIF says what SetLIF set.
func (s *Scripted) LIF(address string) LIFCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lifs[address]
}

// Volume says what SetVolume set.
func (s *Scripted) Volume(name string) VolumeCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.volumes[name]
}

// Clients says what SetClients set.
func (s *Scripted) Clients() []Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.clients)
}

// Move notes the move and does what OnMove set.
func (s *Scripted) Move(ctx context.Context, volume, node string) error {
	s.mu.Lock()
	s.moves = append(s.moves, volume+" to "+node)
	move := s.onMove
	s.mu.Unlock()
	if move == nil {
		return ctx.Err()
	}
	return move(ctx, volume, node)
}
