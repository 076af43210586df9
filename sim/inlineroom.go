package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Owners can be out of memory for the inline bytes of others' objects (specification 1.9).

// cramming is how many runs there are for one in which owners are out of memory.
const cramming = 5

// crams has nodes run out of memory for inline bytes, for a while.
func (w *world) crams(r *rand.Rand) string {
	d := time.Second + drawn(r, 5*time.Second)
	what := fmt.Sprintf("for %v there is no memory for inline bytes at", d)
	for _, n := range w.alive() {
		if r.IntN(3) > 0 {
			n.crammed = w.now + d
			what += " " + string(n.id)
		}
	}
	return what
}

// errNoMemory is the reason why an owner turns a request away.
var errNoMemory = errors.New("the run has it out of memory")

// admits reports whether a replica takes an event. It does not take a request for whose inline
// bytes its node has no memory.
func (n *node) admits(shard int, ev directory.Event) bool {
	r, ok := ev.(directory.Request)
	if !ok || n.shards[shard].Lost() || n.shards[shard].Needs(r) == 0 {
		return true
	}
	short := &n.short[shard]
	if n.w.now >= n.crammed || n.w.calmed {
		if short.Waiting() > 0 {
			n.w.met["room for inline bytes again"]++
		}
		short.Fits(r)
		return true
	}
	n.w.met["no room for inline bytes"]++
	if turnedAway, ok := short.Short(n.id, n.clock(), r, errNoMemory); ok {
		n.w.met["inline bytes turned away"]++
		n.w.audit.answer(n, shard, turnedAway)
		n.post(r.From, toClient{turnedAway})
	} else {
		n.memory.evict(copies.Pressed{Need: 1})
	}
	return false
}
