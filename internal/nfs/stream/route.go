package stream

// routed is a piece of an I/O and its group.
type routed struct{ group, from, to int }

// route cuts the I/O of a slot into fragments for the groups that carry them: it gives the whole slot to a single
// group, or a share of it to each group.
func (l *thread) route(sl *slot) {
	s := l.s
	if !l.cutByGroup(sl) {
		s.cut(sl)
		l.place(sl, 0)
		return
	}
	at, groups := 0, 0
	for g := range s.live {
		first := at
		for _, p := range l.pieces {
			if p.group == g {
				s.set(&sl.fragments[at], sl, p.from, p.to)
				at++
			}
		}
		if sl.shares[g].used = at - first; at == first {
			continue
		}
		sl.shares[g].fragments = sl.fragments[first:at]
		groups++
	}
	sl.used, sl.left, sl.err = at, at, nil
	if groups == 1 {
		l.place(sl, l.pieces[0].group)
		return
	}
	l.share(sl, groups)
}

// cutByGroup fills l.pieces. It returns false if the slot has too few fragments for them: the layout of the file is
// finer than it was when the stream was created.
func (l *thread) cutByGroup(sl *slot) bool {
	s := l.s
	size, total := s.size(&sl.io), len(sl.io.Buf)
	l.pieces = l.pieces[:0]
	for from := 0; from < total; {
		g, n := s.router.Route(&sl.io, from)
		if g < 0 || g >= len(s.live) || s.live[g].Load() == 0 {
			g = 0
		}
		to := min(total, from+min(max(n, 1), size))
		if k := len(l.pieces) - 1; k >= 0 && g == 0 && l.pieces[k].group == 0 && to-l.pieces[k].from <= size {
			l.pieces[k].to = to // one server needs no cut
		} else if len(l.pieces) == len(sl.fragments) {
			return false
		} else {
			l.pieces = append(l.pieces, routed{g, from, to})
		}
		from = to
	}
	return len(l.pieces) > 0
}

// share distributes the fragments of a slot over several groups. The last share to finish joins them again.
func (l *thread) share(sl *slot, groups int) {
	l.drop(sl)
	sl.open.Store(int32(groups)) //nolint:gosec // at most as many as threads
	sl.again.Store(false)
	for g := range sl.shares {
		sh := &sl.shares[g]
		if sh.used == 0 {
			continue
		}
		sh.io, sh.state, sh.whole, sh.started = sl.io, slotActive, sl, sl.started
		sh.left, sh.err = sh.used, nil
		for i := range sh.fragments {
			f := &sh.fragments[i]
			f.slot, f.IO = sh, &sh.io
		}
		to := l.s.idlest(g)
		if to == nil {
			to = l.s.last()
		}
		to.give(sh)
		if groups--; groups == 0 {
			return // the threads of the shares may have joined them already
		}
	}
}

// joined records that a share is done. After the last share it returns the whole slot, which this thread then owns.
func (l *thread) joined(sh *slot) *slot {
	l.drop(sh)
	sh.state = slotIdle
	sl := sh.whole
	if sh.err != nil {
		err := sh.err // declared here, because it would otherwise be allocated always
		sl.failed.CompareAndSwap(nil, &err)
	}
	if sh.io.SentAgain {
		sl.again.Store(true)
	}
	if sl.open.Add(-1) > 0 {
		return nil
	}
	sl.io.SentAgain = sl.again.Load()
	if err := sl.failed.Swap(nil); err != nil {
		sl.err = *err
	}
	l.load.Add(1)
	l.own(sl)
	return sl
}

// place gives one of our slots to the least loaded thread of a group.
func (l *thread) place(sl *slot, group int) {
	to := l.s.idlest(group)
	if to == nil {
		to = l.s.last()
	}
	if to == l || (l.group == to.group && !l.isDown.Load() && l.load.Load() <= to.load.Load()+1) {
		l.resume(sl)
		return
	}
	l.drop(sl)
	to.give(sl)
}

// leave gives a slot to group 0 if some of its fragments cannot be carried here, once none is in flight.
func (l *thread) leave(sl *slot) {
	parked := false
	for i := range sl.fragments[:sl.used] {
		switch sl.fragments[i].state {
		case fragmentSent:
			return
		case fragmentParked:
			parked = true
		case fragmentNone, fragmentQueued, fragmentHeld, fragmentDelayed:
		}
	}
	if !parked {
		return
	}
	for i := range sl.fragments[:sl.used] {
		if f := &sl.fragments[i]; f.state == fragmentParked {
			f.state = fragmentQueued
		}
	}
	l.drop(sl)
	l.rebuild()
	l.s.last().give(sl)
}
