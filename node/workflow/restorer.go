package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Restorer has objects put again of which only checkpoints are left, for the attempts and the clients of this node. It asks
// the members one after the other. A member that is silent, or takes long, holds nothing up: the next one is asked as
// well. A member that has not answered is asked again.
//
// A checkpoint is gone once each disk that was named for it has said that it has lost it, and no other member has it: a Copier may
// have made a copy elsewhere since, so that the members must have been the same for strayMost, or have changed for all of
// awayMost. A named disk whose node is away may come back with it: the Restorer asks each member that joins, and all members
// again, for awayMost. A disk that has lost its copy writes it again after another one has put the object.
type Restorer struct {
	now     time.Duration
	out     []RestorerEffect
	members []phalanx.NodeID
	changed time.Duration // when a member joined or left last
	wishes  map[uint64]*wish
	due     agenda.Agenda[*wish]
}

// wish is an object that somebody waits for.
type wish struct {
	Wish
	began  time.Duration
	next   []phalanx.NodeID // are yet to be asked
	silent []phalanx.NodeID // were asked, and have not answered
	sent   retry.Backoff
	why    []string // by round: what members have answered
	lost   []string // the disks of Disks that do not have it
	losers []phalanx.NodeID
	rounds retry.Backoff
}

// awayMost is how long a disk that is away may still bring a checkpoint back: after that the ledger replaces it (workflow
// specification 3.5).
const awayMost = 10 * time.Minute

// strayMost is how long after a member has joined or left another one may still come, with a disk that is not named: as long as
// the nodes of a cluster that begins anew wait for the last one (workflow specification 3.6).
const strayMost = 10 * time.Second

// restoreAgain are the pauses after which the next member is asked, or the silent ones once more.
var restoreAgain = retry.Pauses{First: time.Second, Most: 10 * time.Second}

// RestorerEvent is what a Restorer hears.
type RestorerEvent interface{ restorerEvent() }

type (
	// Wish asks for an object. It ends with Granted, or with Unwished. The host gives each another number.
	Wish struct {
		Number uint64
		Place  string // of the checkpoint
		Object phalanx.ObjectID
		Meta   phalanx.Meta // of the object; without size for an output, of which only its bytes are known
		Size   int64
		Digest phalanx.Digest
		Disks  []string // that have the checkpoint, as far as is known; without any the members' answers decide
	}
	// Unwished says that nobody waits for it any more.
	Unwished struct{ Number uint64 }
	// Answered brings the answer of a member.
	Answered struct {
		From     phalanx.NodeID
		Restored Restored
	}
)

func (Wish) restorerEvent()     {}
func (Unwished) restorerEvent() {}
func (Answered) restorerEvent() {}
func (Around) restorerEvent()   {}
func (Tick) restorerEvent()     {}

// RestorerEffect is what the host of a Restorer must do.
type RestorerEffect interface{ restorerEffect() }

type (
	// AskFor sends a Restore to a member.
	AskFor struct {
		To      phalanx.NodeID
		Restore Restore
	}
	// SendCopy sends a Copy to a member.
	SendCopy struct {
		To   phalanx.NodeID
		Copy Copy
	}
	// Granted ends a Wish. Err is nil, or an ErrLost that says what each member has answered. Gone says that no disk has
	// the checkpoint any more.
	Granted struct {
		Number uint64
		Err    error
		Gone   bool
	}
)

func (AskFor) restorerEffect()   {}
func (SendCopy) restorerEffect() {}
func (Granted) restorerEffect()  {}

// NewRestorer returns the Restorer of a node.
func NewRestorer() *Restorer { return &Restorer{wishes: map[uint64]*wish{}} }

// Due returns when the Restorer has to hear of the time; false: it need not.
func (r *Restorer) Due() (at time.Duration, ok bool) { return r.due.Due() }

// Step takes an event and returns what the host must do, in that order.
func (r *Restorer) Step(now time.Duration, ev RestorerEvent) []RestorerEffect {
	r.now = max(r.now, now)
	switch ev := ev.(type) {
	case Wish:
		w := &wish{Wish: ev, began: r.now, next: slices.Clone(r.members)}
		r.wishes[ev.Number] = w
		r.ask(w)
	case Unwished:
		if w := r.wishes[ev.Number]; w != nil {
			r.forget(w)
		}
	case Answered:
		r.answered(ev)
	case Around:
		r.around(ev.Nodes)
	}
	for {
		w, ok := r.due.Take(r.now)
		if !ok {
			break
		}
		r.ask(w)
	}
	out := r.out
	r.out = nil
	return out
}

// ask asks the next member, or if all were asked those that are silent.
func (r *Restorer) ask(w *wish) {
	to := w.silent
	if len(w.next) > 0 {
		to, w.next = w.next[:1:1], w.next[1:]
		w.silent = append(w.silent, to[0])
	}
	if len(to) == 0 {
		r.nobody(w)
		return
	}
	for _, n := range to {
		r.out = append(r.out, AskFor{To: n, Restore: Restore{Number: w.Number, Place: w.Place, Object: w.Object, Meta: w.Meta}})
	}
	w.sent.Sent(r.now)
	r.due.Set(w, w.sent.At(restoreAgain))
}

// nobody takes that no member has the checkpoint. All are asked again while a disk that had it is away.
func (r *Restorer) nobody(w *wish) {
	until := w.began + awayMost
	if len(w.lost) == len(w.Disks) {
		until = min(until, r.changed+strayMost)
	}
	gone := r.now >= until && len(w.Disks) > 0
	if len(w.Disks) == 0 || gone {
		r.grant(w, &phalanx.Error{Op: "workflow", Object: w.Object, Kind: phalanx.ErrLost,
			Err: errors.New(strings.Join(append([]string{"no node has it or its checkpoint any more"}, w.why...), "; "))}, gone)
		return
	}
	w.next, w.why = slices.Clone(r.members), nil
	w.rounds.Sent(r.now)
	r.due.Set(w, min(w.rounds.At(restoreAgain), until))
}

func (r *Restorer) answered(ev Answered) {
	w := r.wishes[ev.Restored.Number]
	if w == nil {
		return
	}
	if a := ev.Restored; a.Lost && slices.Contains(w.Disks, a.Disk) && !slices.Contains(w.lost, a.Disk) {
		w.lost, w.losers = append(w.lost, a.Disk), append(w.losers, ev.From)
	}
	switch {
	case ev.Restored.Done:
		for _, n := range w.losers {
			if slices.Contains(r.members, n) {
				r.out = append(r.out, SendCopy{To: n, Copy: Copy{Place: w.Place, Object: w.Object, Size: w.Size, Digest: w.Digest}})
			}
		}
		r.grant(w, nil, false)
	case slices.Contains(w.silent, ev.From):
		if ev.Restored.Failed != "" {
			w.why = append(w.why, fmt.Sprintf("node %s: %s", ev.From, ev.Restored.Failed))
		}
		r.without(w, ev.From)
	}
}

// around takes a view: members that have left answer nothing.
func (r *Restorer) around(members []phalanx.NodeID) {
	var joined []phalanx.NodeID
	for _, n := range members {
		if !slices.Contains(r.members, n) {
			joined = append(joined, n)
		}
	}
	if !slices.Equal(members, r.members) {
		r.members, r.changed = members, r.now
	}
	for _, number := range slices.Sorted(maps.Keys(r.wishes)) {
		w := r.wishes[number]
		w.next = slices.Concat(joined, w.next)
		w.next = slices.DeleteFunc(w.next, func(n phalanx.NodeID) bool { return !slices.Contains(members, n) })
		for _, n := range slices.Clone(w.silent) {
			if !slices.Contains(members, n) && r.wishes[number] == w {
				w.why = append(w.why, fmt.Sprintf("node %s has left", n))
				r.without(w, n)
			}
		}
		if len(joined) > 0 && r.wishes[number] == w && len(w.silent) == 0 {
			r.ask(w) // a disk may be back
		}
	}
}

// without goes on without a member that does not have the checkpoint.
func (r *Restorer) without(w *wish, n phalanx.NodeID) {
	w.silent = slices.DeleteFunc(w.silent, func(m phalanx.NodeID) bool { return m == n })
	switch {
	case len(w.next) > 0:
		w.sent.Answered()
		r.ask(w)
	case len(w.silent) == 0:
		r.nobody(w)
	}
}

func (r *Restorer) grant(w *wish, err error, gone bool) {
	r.forget(w)
	r.out = append(r.out, Granted{Number: w.Number, Err: err, Gone: gone})
}

func (r *Restorer) forget(w *wish) {
	r.due.Cancel(w)
	delete(r.wishes, w.Number)
}
