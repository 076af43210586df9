package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Offer is what a node offers to controllers, as long as its process lives.
type Offer struct {
	Slots     int // attempts that may run at once: 2 × CPUs by default
	Functions []Function
	Disk      string // its identity; "": the node has none
	Again     bool   // the process was a member before: it has objects of runs that may be over by now
}

// Executor decides for a member which attempts run there (workflow specification 4):
//
//  1. once it has answered the Ask of an epoch, it takes nothing of a lower one;
//  2. it begins no attempt twice, however often and late its Order comes;
//  3. it keeps how an attempt has ended until the controller acknowledges that, and then forgets it;
//  4. it ends attempts that go on after the node's view lease has ended, and the process if one goes on 10 s after that.
//
// The state ends with the process: the next one is another member.
type Executor struct {
	now        time.Duration
	out        []ExecutorEffect
	offer      Offer
	epoch      uint64         // of the last Ask that it has answered; 0: none
	controller phalanx.NodeID // that has asked
	seen       serials        // of this epoch's orders
	running    map[AttemptID]*attempt
	ended      map[AttemptID]*ending
	bytes      int                      // of the outputs in ended
	repeats    agenda.Agenda[AttemptID] // reports to send again
	beats      agenda.Agenda[AttemptID] // messages with the progress of attempts
	waits      agenda.Agenda[AttemptID] // messages about attempts that wait
	census     time.Duration            // when the next one is; 0: no controller has asked yet
	saving     map[Blob]bool
	holds      map[UID]map[Blob]bool
	telling    telling
	lease      time.Duration // until when the node has one; 0: nobody has said
	adrift     adrift
	over       bool // the process ends
}

// attempt is one that runs.
type attempt struct {
	order    Order
	canceled bool
	lost     bool // the node has no view lease
	waits    bool // for a disk that is away
	progress []byte
	beaten   time.Duration // when it was told last
}

// ending is a report that is not acknowledged.
type ending struct {
	report Report
	sent   retry.Backoff
}

// repeated are the pauses between repeats of messages of controllers and executors.
var repeated = retry.Pauses{First: 50 * time.Millisecond, Most: time.Second}

// NewExecutor returns the Executor of a process that begins.
func NewExecutor(o Offer) *Executor {
	return &Executor{offer: o, running: map[AttemptID]*attempt{}, ended: map[AttemptID]*ending{}, saving: map[Blob]bool{},
		holds: map[UID]map[Blob]bool{}}
}

// Step takes an event and returns what the host must do, in that order.
func (x *Executor) Step(now time.Duration, ev ExecutorEvent) []ExecutorEffect {
	if x.over {
		return nil
	}
	x.now = max(x.now, now)
	switch ev := ev.(type) {
	case Heard:
		x.heard(ev.From, ev.Message)
	case AttemptEnded:
		x.attemptEnded(ev)
	case Beats:
		x.beat(ev)
	case AttemptWaits:
		x.waiting(ev)
	case Kept:
		x.keeps(ev.Runs)
	case BlobSaved:
		if x.saving[ev.Blob] {
			delete(x.saving, ev.Blob)
			x.send(BlobWritten{Epoch: x.epoch, Blob: ev.Blob, Disk: x.offer.Disk, Failed: ev.Failed, Missing: ev.Missing})
		}
	case Stored:
		x.hold(ev.Blob)
	case Dropped:
		delete(x.holds[ev.Blob.Run], ev.Blob)
	case Leased:
		x.lease = max(x.lease, ev.Until)
	}
	x.repeat()
	x.tellBeats()
	x.tellWaits()
	x.count()
	x.outlive()
	out := x.out
	x.out = nil
	return out
}

// Due returns when the Executor has to hear of the time; false: it need not.
func (x *Executor) Due() (at time.Duration, ok bool) {
	if x.over {
		return 0, false
	}
	at, ok = x.repeats.Due()
	if beat, some := x.beats.Due(); some && (!ok || beat < at) {
		at, ok = beat, true
	}
	if wait, some := x.waits.Due(); some && (!ok || wait < at) {
		at, ok = wait, true
	}
	if x.census > 0 && (!ok || x.census < at) {
		at, ok = x.census, true
	}
	if end, some := x.leaseDue(); some && (!ok || end < at) {
		at, ok = end, true
	}
	return at, ok
}

func (x *Executor) emit(e ExecutorEffect) { x.out = append(x.out, e) }

func (x *Executor) send(m Message) { x.emit(ToController{To: x.controller, Message: m}) }

// heard takes a message of a controller, unless a later one has asked.
func (x *Executor) heard(from phalanx.NodeID, m Message) {
	if ask, ok := m.(Ask); ok && ask.Epoch > x.epoch {
		x.epoch, x.seen, x.telling = ask.Epoch, serials{}, telling{}
		if x.census == 0 {
			x.census = x.now + censusPause
			if x.offer.Again {
				x.census = x.now + againPause
			}
		}
	}
	if m.epoch() != x.epoch || x.epoch == 0 { // a controller sends nothing else before the answer to its Ask
		return
	}
	x.controller = from
	switch m := m.(type) {
	case Ask:
		x.tell(m)
		if m.Part == 0 {
			x.beatAgain()
			x.waitAgain()
		}
	case Order:
		x.order(m)
	case Recall:
		x.recall(m)
	case Acknowledge:
		for _, id := range m.IDs {
			x.forget(id)
		}
	case WriteBlob:
		if x.offer.Disk == "" {
			x.send(BlobWritten{Epoch: x.epoch, Blob: m.Blob, Failed: "the node has no disk"})
		} else if !x.saving[m.Blob] {
			x.saving[m.Blob] = true
			x.emit(SaveBlob{Blob: m.Blob, Output: m.Output, Result: m.Result, Deterministic: m.Deterministic})
		}
	case Release:
		for _, r := range m.Runs {
			delete(x.holds, r.Run)
		}
		x.emit(Free{Runs: m.Runs})
		x.send(Freed{Epoch: x.epoch, Serial: m.Serial})
	}
}

func (x *Executor) order(o Order) {
	switch {
	case x.running[o.ID] != nil:
		x.send(Taken{Epoch: x.epoch, ID: o.ID})
	case x.ended[o.ID] != nil:
		x.report(o.ID)
	case len(x.running)+len(x.ended) >= MaxKept || x.bytes > MaxUncommitted || x.adrift.canceled > 0:
		x.send(Busy{Epoch: x.epoch, ID: o.ID})
	case x.seen.add(o.Serial):
		if x.lease > 0 && len(x.running) == 0 { // the node has wanted no lease meanwhile
			x.lease = max(x.lease, x.now)
		}
		x.running[o.ID] = &attempt{order: o}
		x.emit(RunAttempt{Order: o})
		x.send(Taken{Epoch: x.epoch, ID: o.ID})
	} // else its report was acknowledged: this is a late copy
}

func (x *Executor) recall(m Recall) {
	switch a := x.running[m.ID]; {
	case a != nil:
		if !a.canceled {
			a.canceled = true
			x.emit(CancelAttempt{ID: m.ID})
		}
	case x.ended[m.ID] != nil:
		x.report(m.ID)
	case m.Serial == 0 || x.seen.add(m.Serial): // its Order, which is late, must not begin it
		x.keep(Report{ID: m.ID, Failed: "it was canceled before it began"})
	}
}

func (x *Executor) attemptEnded(ev AttemptEnded) {
	a := x.running[ev.ID]
	if a == nil {
		return
	}
	delete(x.running, ev.ID)
	x.beats.Cancel(ev.ID)
	x.waits.Cancel(ev.ID)
	if ev.Work != nil && ev.Work.size() > MaxReturned {
		ev.Failed, ev.Final, ev.Work = tooLarge(ev.Work), true, nil
	}
	ev.Output.Names = sound(ev.Output.Names) // of 100,000 they have 10 MB, and go with each repeat of the report
	if ev.Failed == "" && ev.Work == nil && a.order.Kind != TakeBack && a.order.Kind != MakeUp {
		x.hold(Blob{Run: ev.ID.Run, Task: ev.ID.Task, Gen: a.order.Gen, Made: a.order.Made})
	}
	r := Report{ID: ev.ID, Gen: a.order.Gen, Kind: a.order.Kind, Failed: cut(ev.Failed), Final: ev.Final, Missing: ev.Missing, Unsaved: ev.Unsaved, Output: ev.Output, Work: ev.Work}
	if r.Failed != "" {
		r.Progress, r.Lost = a.progress, a.lost || ev.Lost
		r.Final = r.Final && !r.Lost
	}
	x.keep(r)
}

func (x *Executor) hold(b Blob) {
	if x.holds[b.Run] == nil {
		x.holds[b.Run] = map[Blob]bool{}
	}
	x.holds[b.Run][b] = true
}

// keep keeps a report until it is acknowledged.
func (x *Executor) keep(r Report) {
	x.ended[r.ID] = &ending{report: r}
	x.bytes += r.bytes()
	x.report(r.ID)
}

// forget drops a report that is acknowledged.
func (x *Executor) forget(id AttemptID) {
	if e := x.ended[id]; e != nil {
		x.bytes -= e.report.bytes()
		delete(x.ended, id)
		x.repeats.Cancel(id)
	}
}

// report sends a report to the controller that has asked last.
func (x *Executor) report(id AttemptID) {
	e := x.ended[id]
	e.report.Epoch = x.epoch
	x.send(e.report)
	e.sent.Sent(x.now)
	x.repeats.Set(id, e.sent.At(repeated))
}

func (x *Executor) repeat() {
	for {
		id, ok := x.repeats.Take(x.now)
		if !ok {
			return
		}
		x.report(id)
	}
}
