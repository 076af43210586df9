package workflows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// checker checks what the ledger and the runs promise (workflow specification 1 to 3).
type checker struct {
	s          *service
	ledger     string // whose appends are acknowledged
	epoch      uint64 // of the newest tenure
	generation uint64 // of the ledger: later tenures are of it
	by         map[uint64]string
	rows       map[string]string // that are durable: acknowledged, or found by a later leader
	pending    []pending         // appends that were not acknowledged, in order
	begun      map[attemptOf]bool
	partial    map[core.UID]core.Batch
	closed     map[string]time.Duration // by id: when it was known that a run has ended
}

type pending struct {
	epoch uint64
	rows  []ledger.Row
}

type attemptOf struct {
	run     core.UID
	task    int
	gen     uint32
	attempt core.Attempt
}

func newChecker(s *service) *checker {
	return &checker{s: s, by: map[uint64]string{}, rows: map[string]string{}, begun: map[attemptOf]bool{}, partial: map[core.UID]core.Batch{}, closed: map[string]time.Duration{}}
}

// in reports whether a row is about a key.
func in(r ledger.Row, key string) bool {
	return key == r.Key || r.End != "" && key >= r.Key && key < r.End
}

// tenureBegan checks that a leader has all rows that were acknowledged.
func (c *checker) tenureBegan(h *host, epoch uint64) {
	if by, is := c.by[epoch]; is {
		c.s.Fail("(ledger) %s begins the tenure %d, which %s has begun", h.p.Name(), epoch, by)
	}
	if g := ledger.GenerationOf(epoch); g != c.generation {
		c.s.Fail("(3) %s begins the tenure %d of generation %d, and the ledger was recovered in generation %d", h.p.Name(), epoch, g, c.generation)
	}
	c.by[epoch] = h.p.Name()
	if epoch < c.epoch {
		return // it does not know the later one yet
	}
	c.epoch = epoch
	rows := c.stored(h)
	doubtful := func(key string) bool {
		return slices.ContainsFunc(c.pending, func(p pending) bool {
			return slices.ContainsFunc(p.rows, func(r ledger.Row) bool { return in(r, key) })
		})
	}
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		if rows[key] != c.rows[key] && !doubtful(key) {
			c.s.Fail("(ledger) %s begins the tenure %d without the row %s", h.p.Name(), epoch, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if _, is := c.rows[key]; !is && !doubtful(key) {
			c.s.Fail("(ledger) %s begins the tenure %d with the row %s, which nobody has appended", h.p.Name(), epoch, key)
		}
	}
	c.rows = rows
	c.pending = slices.DeleteFunc(c.pending, func(p pending) bool { return p.epoch < epoch })
}

// stored returns the rows on a disk.
func (c *checker) stored(h *host) map[string]string {
	rows := map[string]string{}
	h.good(h.keeper.disk.Scan("", func(r ledger.Row) bool { rows[r.Key] = string(r.Value); return true }))
	return rows
}

// proposed notes rows that a leader appends.
func (c *checker) proposed(epoch uint64, rows []ledger.Row) {
	c.pending = append(c.pending, pending{epoch, rows})
}

// durable notes rows whose append is acknowledged.
func (c *checker) durable(h *host, epoch uint64, rows []ledger.Row) {
	if cluster := h.keeper.disk.Identity().Cluster; c.ledger == "" {
		c.ledger = cluster
	} else if c.ledger != cluster {
		c.s.Fail("(ledger) %s acknowledges an append to %s, and %s is the ledger", h.p.Name(), cluster, c.ledger)
	}
	for _, r := range rows {
		c.note(r)
	}
	if epoch < c.epoch {
		return // the later leader has it
	}
	i := slices.IndexFunc(c.pending, func(p pending) bool { return p.epoch == epoch })
	c.pending = slices.Delete(c.pending, i, i+1)
	for _, r := range rows {
		if r.Value != nil {
			c.rows[r.Key] = string(r.Value)
		} else {
			maps.DeleteFunc(c.rows, func(k, _ string) bool { return in(r, k) })
		}
	}
}

// note takes note of the attempts whose beginning is durable.
func (c *checker) note(r ledger.Row) {
	u, what, is := runOf(r.Key)
	if !is || !strings.HasPrefix(what, "log/") || r.Value == nil {
		return
	}
	v, err := messages.UnmarshalRow(r.Value, core.MaxTasks)
	if err != nil {
		c.s.Fail("row %s: %v", r.Key, err)
	}
	next := v.(core.Batch)
	b := c.partial[u]
	if b.Epoch != next.Epoch {
		b = core.Batch{Epoch: next.Epoch}
	}
	b.Records = append(b.Records, next.Records...)
	if c.partial[u] = b; next.More {
		return
	}
	for _, rec := range b.Records {
		if rec, is := rec.(core.Begun); is {
			c.begun[attemptOf{u, rec.Task, rec.Gen, rec.Attempt}] = true
		}
	}
	delete(c.partial, u)
}

// runOf returns the run that a row is of, and which of its rows.
func runOf(key string) (u core.UID, what string, is bool) {
	rest, is := strings.CutPrefix(key, "run/")
	id, what, _ := strings.Cut(rest, "/")
	if is {
		_, err := fmt.Sscanf(id, "%x.%x.%x", &u.Ledger, &u.Epoch, &u.Index)
		is = err == nil
	}
	return u, what, is
}

// halted checks that a replica ends only with its disk.
func (c *checker) halted(h *host, err error) {
	if !h.machine.failed {
		c.s.Fail("(ledger) the replica of %s has ended: %v", h.p.Name(), err)
	}
}

// givenUp checks that a controller gives up only with its disk.
func (c *checker) givenUp(h *host, why string) {
	if !h.machine.failed {
		c.s.Fail("(ledger) the controller on %s gives up: %s", h.p.Name(), why)
	}
}

// published takes news.
func (c *checker) published(_ uint64, n core.News) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", n), "workflow.")
	c.s.Met("workflow: news " + name)
	c.s.Tracef("news: %T %+v", n, n)
}

// leader returns the host whose controller leads, or nil.
func (s *service) leader() *host {
	for _, p := range s.Live() {
		if h := s.hosts[p]; h.keeper.controller != nil && h.keeper.tenure != nil && !h.keeper.tenure.over && h.keeper.tenure.epoch == s.check.epoch {
			return h
		}
	}
	return nil
}

// fold is what the records of a run say about a task.
type fold struct {
	began, ended, compensated bool
	output                    core.Output
	made                      core.Attempt
}

// records returns what the durable records of a run say.
func (c *checker) records(rows map[string]string, u core.UID, tasks int) (all []fold, signals map[string]core.Signalled, closed *core.Closed) {
	all, signals = make([]fold, tasks), map[string]core.Signalled{}
	prefix := "run/" + u.String() + "/log/"
	var part []core.Record
	epoch := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		v, err := messages.UnmarshalRow([]byte(rows[key]), core.MaxTasks)
		if err != nil {
			c.s.Fail("row %s: %v", key, err)
		}
		b := v.(core.Batch)
		if b.Epoch != epoch {
			part, epoch = nil, b.Epoch
		}
		if part = append(part, b.Records...); b.More {
			continue
		}
		for _, rec := range part {
			switch rec := rec.(type) {
			case core.Begun:
				all[rec.Task].began = true
			case core.Ended:
				all[rec.Task].ended, all[rec.Task].output, all[rec.Task].made = true, rec.Output, rec.Attempt
			case core.Recovering:
				for _, v := range rec.Set {
					all[v].ended = false
				}
			case core.Signalled:
				signals[rec.Name] = rec
			case core.Compensated:
				all[rec.Task].compensated = true
			case core.Closed:
				closed = &rec
			}
		}
		part = nil
	}
	return all, signals, closed
}

// run checks that effects are those of one run without failures; or, if the run has gone back, those that nothing takes
// back and what is above them.
func (c *checker) run(rows map[string]string, r *run) {
	all, signals, closed := c.records(rows, r.uid, len(r.graph.Tasks))
	if closed == nil {
		c.s.Fail("(14) run %s has a result, and its end is not recorded", r.id)
	}
	if (closed.Failed == "") != (r.result.Failed == "") {
		c.s.Fail("(2) run %s ends with %q, and %q is recorded", r.id, r.result.Failed, closed.Failed)
	}
	for name, g := range r.signals {
		if g.taken != "" && signals[name].ID != g.taken {
			c.s.Fail("(2) the signal %s %q of %s was acknowledged, and %q is recorded", name, g.taken, r.id, signals[name].ID)
		}
	}
	seen := c.s.outside.run(r.uid)
	for v := range r.graph.Tasks {
		call := r.graph.Calls[r.graph.Tasks[v].Call]
		if call.Kind == messages.CallReduce && closed.Failed == "" && !all[v].ended {
			c.s.Fail("(14) the reduce %d of %s has not ended, and the run has ended well", v, r.id)
		}
		if call.Kind != messages.CallFunction {
			continue
		}
		left, f := seen.journal[v], all[v]
		caught := f.ended && f.output.Error != ""
		if closed.Failed != "" {
			stays := call.Effect == core.Idempotent || r.irreversibleBelow(v, all)
			if len(left) > 0 && (!stays || call.Compensates && f.ended && !caught) {
				c.s.Fail("(1) the effect of %d of %s is left, which has failed: %s", v, r.id, closed.Failed)
			}
			continue
		}
		if !f.ended {
			c.s.Fail("(14) %d of %s has not ended, and the run has ended well", v, r.id)
		}
		if caught {
			if call.Effect == core.Undo && len(left) > 0 {
				c.s.Fail("(1) %d of %s has failed, and its effect is left", v, r.id)
			}
			continue
		}
		if call.Effect != core.None && len(left) != 1 {
			c.s.Fail("(1) outsiders see %d effects of %d of %s: %+v", len(left), v, r.id, left)
		}
		inputs := c.inputs(r, v, all, signals)
		for _, e := range left {
			if !slices.Equal(e.inputs, inputs) || c.s.outside.values[f.output.Digest] != e.answer {
				c.s.Fail("(1) the effect of %d of %s is %x of %x, and recorded is %x of %x", v, r.id, e.answer, e.inputs, f.output.Digest, inputs)
			}
		}
		if want := hash(v, true, core.Attempt{}, inputs); call.Deterministic && c.s.outside.values[f.output.Digest] != want {
			c.s.Fail("(1) the output of %d of %s is not that of a run without faults", v, r.id)
		}
	}
}

// irreversibleBelow reports whether a task that reads the output of v, or of one that does, has begun and nothing takes it back.
func (r *run) irreversibleBelow(v int, all []fold) bool {
	below := map[int]bool{v: true}
	for w := v + 1; w < len(r.graph.Tasks); w++ {
		for _, in := range r.graph.Tasks[w].Inputs {
			if below[int(in.N)] {
				below[w] = true
			}
		}
		if below[w] && all[w].began && r.graph.Calls[r.graph.Tasks[w].Call].Effect == core.Idempotent && r.graph.Calls[r.graph.Tasks[w].Call].Kind == messages.CallFunction {
			return true
		}
	}
	return false
}

// inputs returns the values of what a task has read.
func (c *checker) inputs(r *run, v int, all []fold, signals map[string]core.Signalled) (inputs []uint64) {
	for _, in := range r.graph.Tasks[v].Inputs {
		o := all[in.N].output
		value, is := c.s.outside.values[o.Digest]
		call := r.graph.Calls[r.graph.Tasks[in.N].Call]
		switch {
		case o.Error != "":
			value = ofError
		case call.Kind == messages.CallSleep:
			value = ofSleep
		case call.Kind == messages.CallEvent:
			value = binary.BigEndian.Uint64(signals[call.Name].Bytes)
		case !is:
			c.s.Fail("the output of %d of %s is none that an attempt has made", in.N, r.id)
		}
		inputs = append(inputs, value)
	}
	return inputs
}

// know notes that somebody knows that a run has ended.
func (c *checker) know(r *run) {
	if _, is := c.closed[r.id]; !is {
		c.closed[r.id] = c.s.Now()
	}
}

// statusAge is the longest age of a status.
const statusAge = 2 * time.Second

// status checks that a run that has ended stays so.
func (c *checker) status(k *call, s *core.Status) {
	if at, is := c.closed[k.run.id]; is && k.began > at+statusAge && s.State != core.Finished {
		c.s.Fail("(4) run %s, which has ended at %v, is in the state %d", k.run.id, at, s.State)
	}
}

// signal checks that one of several signals of a name counts.
func (c *checker) signal(r *run, w core.SignalRun, err error) {
	g := r.signals[w.Name]
	exists := errors.Is(err, phalanx.ErrExists)
	if err == nil && g.taken != "" && g.taken != w.Key || exists && g.taken == w.Key {
		c.s.Fail("(2) the signal %s %q of %s counts, and %q is answered %v", w.Name, g.taken, r.id, w.Key, err)
	}
	if g.over = g.over || err == nil || exists; err == nil {
		g.taken = w.Key
	}
}

// left names something that is left of a run that was forgotten, or returns "": no row but that of its id, no object, no
// checkpoint. Of others a disk keeps checkpoints that it had as its process began: nobody knows whether the run ended with them.
func (c *checker) left(rows map[string]string) string {
	s := c.s
	s.census()
	forgotten := map[string]bool{}
	for _, r := range s.work.runs {
		forgotten[r.uid.String()] = r.forgets
	}
	of := func(id string) bool { // of a run that was forgotten, or that nobody has started
		u, _, _ := strings.Cut(strings.TrimPrefix(id, "wf/"), "/")
		gone, is := forgotten[u]
		return gone || !is
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if u, _, is := runOf(key); is && of(u.String()) {
			return fmt.Sprintf("(12) the row %s is left of a run that was forgotten", key)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.store.all)) {
		if on := s.store.holders(id); len(on) > 0 && of(string(id)) {
			return fmt.Sprintf("(12) the object %s is left on %s", id, on[0].p.Name())
		}
	}
	for _, p := range s.Live() {
		h, text := s.hosts[p], ""
		if h.actorHost != nil {
			for _, u := range h.actorHost.Runs() {
				return fmt.Sprintf("(12) an actor of run %s is left on %s", u, p.Name())
			}
		}
		if h.keeper.disk == nil {
			continue
		}
		h.good(h.keeper.disk.List(func(place string, _ int64) bool {
			if of(place) {
				text = fmt.Sprintf("(12) the checkpoint %s is left on the disk of %s", place, p.Name())
			}
			return text == ""
		}))
		if text != "" {
			return text
		}
	}
	return ""
}

// census has each node name the runs of which it has something, once all are over: as nodes do once in an hour.
func (s *service) census() {
	if s.counted > 0 && s.Now() < s.counted+time.Second {
		return
	}
	s.counted = s.Now()
	for _, p := range s.Live() {
		if h := s.hosts[p]; h.member != nil {
			h.post(func() { h.local(flow.Local{Event: core.Kept{Runs: h.runs()}}) })
		}
	}
}
