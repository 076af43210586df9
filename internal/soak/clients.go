package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
)

// liveBytes is the most bytes of all objects together: more than a node may hold, so
// that nodes have to evict, but few enough that pinned copies fit.
const liveBytes = 64 << 20

// client makes random calls, one after the other, until ctx ends.
func (s *soak) client(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		p := s.fleet.any(rng)
		if p == nil {
			return
		}
		if o := s.ledger.excess(liveBytes); o != nil {
			s.remove(p, o)
			continue
		}
		s.step(ctx, rng, p)
		pause(ctx, milliseconds(rng, 20))
	}
}

func (s *soak) step(ctx context.Context, rng *rand.Rand, p *process) {
	dice := rng.IntN(100)
	if dice < 22 {
		s.create(rng, p)
		return
	}
	if dice < 26 {
		s.reduce(ctx, rng)
		return
	}
	o := s.ledger.pick(rng)
	if o == nil {
		return
	}
	switch {
	case dice < 60:
		s.read(p, o, s.manner(rng, o, "get"))
	case dice < 72:
		s.read(p, o, s.manner(rng, o, "open"))
	case dice < 74:
		s.stat(p, o)
	case dice < 80:
		r := order{Do: "prefetch"}
		if !o.sureSince(s.clock()) { // the object may never come
			r.Deadline = 3 * time.Second
		}
		s.call(p, o, r)
	case dice < 90:
		s.putAgain(rng, p, o)
	default:
		if !o.reduced {
			s.remove(p, o)
		}
	}
}

// manner returns how a client reads an object: mostly without waiting for another
// client to begin it, now and then with a short deadline or a cancel.
func (s *soak) manner(rng *rand.Rand, o *object, do string) order {
	r := order{Do: do, Try: true}
	switch dice := rng.IntN(20); {
	case dice == 0:
		r.Deadline = time.Duration(1+rng.IntN(300)) * time.Millisecond
	case dice == 1:
		r.Cancel = time.Duration(1+rng.IntN(100)) * time.Millisecond
	case dice < 10 && o.sureSince(s.clock()):
		r.Try = false
	case dice == 11:
		r.Try, r.Deadline = false, 2*time.Second
	}
	if r.Try && !o.sureSince(s.clock()) && r.Deadline == 0 { // the object may be lost, and never come
		r.Deadline = 3 * time.Second
	}
	if r.Deadline == 0 && rng.IntN(8) == 0 { // others want the memory meanwhile
		r.Hold, r.Size = milliseconds(rng, 2000), o.size/2
	}
	return r
}

// create puts a new object, which other clients know already.
func (s *soak) create(rng *rand.Rand, p *process) {
	o := s.ledger.add(&object{id: s.name("object"), size: size(rng), puts: 1})
	rivals := 0
	if rng.IntN(6) == 0 {
		rivals = 1 + rng.IntN(2)
	}
	done := make(chan struct{}, rivals)
	for range rivals { // others put it at the same time: the same bytes, or other ones
		version := o.version(rng)
		way, q := manner(rng), s.fleet.any(rng)
		go func() {
			defer func() { done <- struct{}{} }()
			if q != nil {
				s.put(q, o, version, way)
			}
		}()
	}
	s.put(p, o, 0, manner(rng))
	for range rivals {
		<-done
	}
}

// manner returns how a client puts an object.
func manner(rng *rand.Rand) order {
	r := order{Unsized: rng.IntN(5) == 0, Copies: 1 + rng.IntN(2)}
	if rng.IntN(25) == 0 {
		r.Cancel = time.Duration(1+rng.IntN(50)) * time.Millisecond
	}
	return r
}

// version returns a version that was put, or a new one.
func (o *object) version(rng *rand.Rand) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.puts == 0 || rng.IntN(2) == 0 {
		o.puts++
		return o.puts - 1
	}
	return rng.IntN(o.puts)
}

func (s *soak) putAgain(rng *rand.Rand, p *process, o *object) {
	if !o.reduced {
		s.put(p, o, o.version(rng), manner(rng))
	}
}

// size returns the size of a new object: most are small.
func size(rng *rand.Rand) int64 {
	switch dice := rng.IntN(20); {
	case dice < 9:
		return rng.Int64N(4 << 10)
	case dice < 12:
		return rng.Int64N(inlineBelow)
	case dice < 14:
		return inlineBelow + rng.Int64N(3) - 1
	case dice < 19:
		return inlineBelow + rng.Int64N(2<<20)
	default:
		return 2<<20 + rng.Int64N(6<<20)
	}
}

// name returns a new id.
func (s *soak) name(what string) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s%s/%d", prefix, what, s.names.Add(1)))
}

// prefix begins all ids.
const prefix = "soak/"

// pause waits, for at most as long as ctx lives.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
