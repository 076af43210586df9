package owner

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// RoomPatience is how long a request waits at the owner until others have made room for its
// inline bytes. It is less than the time that the sender takes for silence.
const RoomPatience = 2 * time.Second

// Room has the requests of one shard for whose inline bytes the owner has no memory. Their senders
// repeat them. The zero Room is empty.
type Room struct {
	since map[asked]time.Duration // since when each waits
}

// asked names a request.
type asked struct {
	from phalanx.NodeID
	num  uint64
}

// Fits forgets a request for which there is memory.
func (r *Room) Fits(q directory.Request) { delete(r.since, asked{q.From, q.Num}) }

// Short notes that there is no memory for a request, for the reason why. The owner drops the
// request, which its sender repeats. Once the request has waited for RoomPatience, Short returns
// the answer that turns it away.
func (r *Room) Short(self phalanx.NodeID, now time.Duration, q directory.Request, why error) (turnedAway directory.Reply, ok bool) {
	for k, since := range r.since { // also requests that are not repeated any more
		if now-since > 2*RoomPatience {
			delete(r.since, k)
		}
	}
	key := asked{q.From, q.Num}
	since, again := r.since[key]
	if !again {
		if r.since == nil {
			r.since = map[asked]time.Duration{}
		}
		r.since[key], since = now, now
	}
	if now-since < RoomPatience {
		return directory.Reply{}, false
	}
	delete(r.since, key)
	return directory.Reply{To: q.From, Num: q.Num, Object: q.Object, Result: directory.Result{
		Kind: phalanx.ErrNoSpace, Text: fmt.Sprintf("the owner %s has no memory for the object: %v", self, why)}}, true
}

// Waiting returns how many requests wait.
func (r *Room) Waiting() int { return len(r.since) }
