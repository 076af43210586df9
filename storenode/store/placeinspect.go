package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/protocol/reduce"
)

const (
	inspectAtOnce   = 64                     // places that a node asks at a time
	inspectPatience = 200 * time.Millisecond // the longest wait for their answers
	inspectWarn     = 10 * time.Second       // between two warnings that a place does not answer
)

// inspection is the question of a coordinator which places of its Reduce run here.
type inspection struct {
	from *actor.PID
	in   reduce.Inspect
}

// pass asks the places of one Reduce for their states. A Reduce has one pass at a time, also
// if its coordinator repeats the question.
type pass struct {
	now  inspection
	next *inspection // the newest other question since; nil: none
}

// Inspect answers which places of a Reduce run here, and has them refuse lesser
// attempts.
func (h *Places) Inspect(from *actor.PID, in reduce.Inspect) {
	key, asked := placeKey{Target: in.Target, Reduce: in.Reduce, Place: 0}, inspection{from, in}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.passes[key]
	switch {
	case h.closed:
	case p == nil:
		h.passes[key] = &pass{now: asked}
		go h.inspect(key, asked)
	case asked.in == p.now.in && from.Equal(p.now.from), in.Attempt < p.now.in.Attempt, p.next != nil && in.Attempt < p.next.in.Attempt:
	default:
		p.next = &asked
	}
}

// inspect makes one pass after the other until no question is left.
func (h *Places) inspect(key placeKey, asked inspection) {
	for {
		if held, ok := h.ask(asked.in); ok {
			h.report(nil, asked.from, key, held)
		}
		h.mu.Lock()
		p := h.passes[key]
		if p.next == nil || h.closed {
			delete(h.passes, key)
			h.mu.Unlock()
			return
		}
		p.now, p.next = *p.next, nil
		asked = p.now
		h.mu.Unlock()
	}
}

// placed is a place on this node.
type placed struct {
	key placeKey
	pid *actor.PID
}

// placesOf returns the places that a coordinator asks for, by position.
func (h *Places) placesOf(in reduce.Inspect) []placed {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []placed
	for key, pid := range h.actors {
		if key.Target == in.Target && key.Reduce == in.Reduce && key.Place >= in.From {
			out = append(out, placed{key, pid})
		}
	}
	slices.SortFunc(out, func(a, b placed) int { return cmp.Compare(a.key.Place, b.key.Place) })
	return out
}

// ask asks the places that in names for their states, as far as one answer has room. The
// answer ends before a place that does not reply in time, since that place may run. If it is
// the first place, there is no answer, and the coordinator asks again.
func (h *Places) ask(in reduce.Inspect) (held reduce.Inspected, ok bool) {
	held = reduce.Inspected{Node: h.env.Self, Attempt: in.Attempt, From: in.From}
	for places := h.placesOf(in); len(places) > 0; {
		n := min(inspectAtOnce, len(places))
		here, slow := h.askAtOnce(places[:n], in.Attempt)
		held.Places = append(held.Places, here...)
		held.Cut()
		switch {
		case held.Next != 0:
			return held, true
		case slow != nil:
			h.warnSlow(slow.key)
			held.Next = slow.key.Place
			return held, held.Next > in.From
		}
		places = places[n:]
	}
	return held, true
}

// askAtOnce asks places for their states. It returns the first place that does not answer,
// if there is one, and the states of the places before it.
func (h *Places) askAtOnce(places []placed, attempt uint64) (held []reduce.Held, slow *placed) {
	answers := make([]chan []reduce.Held, len(places))
	for i, p := range places {
		answers[i] = make(chan []reduce.Held, 1)
		h.env.send(p.pid, inspectPlace{attempt, answers[i]})
	}
	patience := time.NewTimer(inspectPatience)
	defer patience.Stop()
	over := false
	for i := range places {
		if !over {
			select {
			case here := <-answers[i]:
				held = append(held, here...)
				continue
			case <-patience.C:
				over = true
			}
		}
		select {
		case here := <-answers[i]:
			held = append(held, here...)
		default:
			if places[i].pid.Equal(h.find(places[i].key)) { // else it has just ended
				return held, &places[i]
			}
		}
	}
	return held, nil
}

func (h *Places) warnSlow(key placeKey) {
	h.mu.Lock()
	now := h.env.Now()
	warn := h.warned == 0 || now-h.warned >= inspectWarn
	if warn {
		h.warned = max(now, 1)
	}
	h.mu.Unlock()
	if warn {
		h.env.Log.WithField("object", key.Target).Warnf("place %d of the reduce has not reported its state within %v: the node asks again", key.Place, inspectPatience)
	}
}
