package workflow

import (
	"fmt"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// actorCallsOf are the calls of one node that an ActorHost keeps: those that go on there, as far as its newest letter says.
type actorCallsOf struct {
	list  OpenCalls // of that letter
	calls map[uint64]*hostedCall
}

// hostedCall is a call that goes on, or has ended and may be repeated.
type hostedCall struct {
	actor  string // its ID
	deed   ActorDeed
	bytes  int
	answer *ActorAnswer // nil: it goes on
}

// isOver reports whether the caller has said that a call is over.
func (of *actorCallsOf) isOver(number uint64) bool {
	if number >= of.list.Below {
		return false
	}
	_, open := slices.BinarySearch(of.list.Open, number)
	return !open
}

// oldest reports whether no call goes on that is older than this one.
func (of *actorCallsOf) oldest(number uint64) bool {
	return len(of.list.Open) == 0 || number <= of.list.Open[0]
}

// take takes a list that is newer than the one before, and returns the calls that are over now. It looks at the numbers that the lists do
// not share, and not at each call: there may be very many.
func (of *actorCallsOf) take(list OpenCalls) (over []uint64) {
	if list.Turn <= of.list.Turn {
		return nil
	}
	was := of.list
	of.list = list
	of.list.Below = max(was.Below, list.Below)
	gone := func(n uint64) {
		if of.calls[n] != nil && of.isOver(n) {
			over = append(over, n)
		}
	}
	still := list.Open
	for _, n := range was.Open {
		for len(still) > 0 && still[0] < n {
			still = still[1:]
		}
		if len(still) == 0 || still[0] != n {
			gone(n)
		}
	}
	if of.list.Below-was.Below < uint64(len(of.calls)) {
		for n := was.Below; n < of.list.Below; n++ {
			gone(n)
		}
		return over
	}
	for _, n := range slices.Sorted(maps.Keys(of.calls)) {
		if n >= was.Below {
			gone(n)
		}
	}
	return over
}

func (h *ActorHost) call(from phalanx.NodeID, number uint64) *hostedCall {
	if of := h.callers[from]; of != nil {
		return of.calls[number]
	}
	return nil
}

func (h *ActorHost) caller(from phalanx.NodeID) *actorCallsOf {
	of := h.callers[from]
	if of == nil {
		of = &actorCallsOf{calls: map[uint64]*hostedCall{}}
		h.callers[from] = of
	}
	return of
}

// hear forgets the calls that are over, as a letter says.
func (h *ActorHost) hear(from phalanx.NodeID, of *actorCallsOf, list OpenCalls) {
	for _, n := range of.take(list) {
		h.forget(from, of, n)
	}
}

// note keeps a call, so that copies of it are known.
func (h *ActorHost) note(of *actorCallsOf, number uint64, actor string, deed ActorDeed, bytes int) *hostedCall {
	c := &hostedCall{actor: actor, deed: deed, bytes: callBytes + bytes}
	of.calls[number] = c
	h.bytes += c.bytes
	return c
}

// forget ends a call, and forgets it.
func (h *ActorHost) forget(from phalanx.NodeID, of *actorCallsOf, number uint64) {
	c := of.calls[number]
	h.stop(from, c, number)
	delete(of.calls, number)
	h.bytes -= c.bytes
}

// stop ends a call for which nobody waits. Its answer is not kept, nor the object of a large one.
func (h *ActorHost) stop(from phalanx.NodeID, c *hostedCall, number uint64) {
	if c.answer == nil {
		if h.ended(from, c, number) {
			h.out = append(h.out, ActorStop{from, number})
		}
	} else if id := c.answer.Large.Object; id != "" && c.deed == ActorDo {
		h.out = append(h.out, ActorSpare{id})
	}
	h.bytes -= c.bytes - callBytes
	c.bytes, c.answer = callBytes, &ActorAnswer{Number: number, End: ActorGone, Why: "nobody waited for it any more"}
	h.silent.Cancel(actorCallID{from, number})
}

// repeated notes that a caller waits for a call. A large answer is kept until the caller says that the call is over.
func (h *ActorHost) repeated(from phalanx.NodeID, c *hostedCall, number uint64) {
	if id := (actorCallID{from, number}); c.answer == nil || len(c.answer.Bytes) > 0 {
		h.silent.Set(id, h.now+unrepeatedMost)
	} else {
		h.silent.Cancel(id)
	}
}

// unrepeated ends a call that its caller has given up, and drops the answer to one that has ended: the letter that says that it is over
// may be lost.
func (h *ActorHost) unrepeated(id actorCallID) {
	c := h.call(id.From, id.Number)
	if c.answer != nil {
		h.stop(id.From, c, id.Number)
		return
	}
	h.out = append(h.out, ActorStop(id))
	h.answer(id.From, c, ActorAnswer{Number: id.Number, End: ActorGone, Why: fmt.Sprintf("its caller has not repeated it for %v", unrepeatedMost)})
}

// tells says every minute of which runs the node has actors.
func (h *ActorHost) tells() {
	switch {
	case h.actors.None():
		h.tell = 0
	case h.tell == 0:
		h.tell = h.now + tellEvery
	case h.tell <= h.now:
		h.tell = h.now + tellEvery
		h.out = append(h.out, ActorKept{h.Runs()})
	}
}
