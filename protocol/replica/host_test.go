package replica

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// host is a node whose keys have bytes as state, and changes that append to them. An item is a byte.
type host struct {
	id      phalanx.NodeID
	now     time.Duration
	view    uint64
	members []phalanx.NodeID
	piece   int  // bytes of a message
	leased  bool // it is a member for certain

	terms     Terms
	gathering Gathering[[]held]
	tellings  Tellings[[]held]
	arrivals  Arrivals[string, []byte]
	entries   map[string]*entry
	early     []asked // before all members have answered
	trip      retry.Trip

	send   func(from, to phalanx.NodeID, m message)
	answer func(by phalanx.NodeID, key string, changes []string, e *entry)
}

// entry is a replica of one key.
type entry struct {
	Copy
	state           []byte
	backups         Backups
	pending, flight []string
}

type asked struct{ key, change string }

// managers are the first three members, for all keys.
const managers = 3

func newHost(id phalanx.NodeID, piece int) *host {
	return &host{id: id, piece: piece, leased: true, entries: map[string]*entry{}}
}

func (h *host) primary() phalanx.NodeID { return h.members[0] }

func (h *host) backups() []phalanx.NodeID { return h.members[1:min(len(h.members), managers)] }

func (h *host) keys() []string { return slices.Sorted(maps.Keys(h.entries)) }

// learn takes a view.
func (h *host) learn(number uint64, members []phalanx.NodeID) {
	same := slices.Equal(h.members, members)
	if h.view, h.members = number, members; !same {
		h.begin(number)
	}
}

// begin begins a term. What is on its way counts no more: whoever asked for it asks again.
func (h *host) begin(term uint64) {
	h.terms.Term, h.early = term, nil
	h.gathering.Reset()
	h.tellings.Reset()
	h.arrivals.Reset()
	for _, e := range h.entries {
		e.pending, e.flight = nil, nil
		e.backups.Forget()
	}
	h.tick(h.now)
}

// ready reports whether the host may act as the primary, and begins what it needs for that.
func (h *host) ready() bool {
	if h.primary() != h.id {
		return false
	}
	if !h.gathering.Begun() {
		h.terms.Lead()
		h.gathering.Begin(h.now, h.terms.Term, h.id, h.members)
		if h.gathering.Done() {
			h.install()
		}
	}
	return h.gathering.Done()
}

// change is asked for by a client.
func (h *host) change(key, text string) {
	if h.primary() != h.id {
		return
	}
	if !h.ready() {
		h.early = append(h.early, asked{key, text})
		return
	}
	h.entry(key).pending = append(h.entry(key).pending, text)
	h.advance(key)
}

func (h *host) entry(key string) *entry {
	if h.entries[key] == nil {
		h.entries[key] = &entry{}
	}
	return h.entries[key]
}

// advance sends the next batch, if none is on its way.
func (h *host) advance(key string) {
	e := h.entries[key]
	if e.flight != nil || e.pending == nil {
		return
	}
	e.flight, e.pending = e.pending, nil
	e.backups.Begin(h.now, Version{h.terms.Term, e.Seq + 1}, h.backups())
	h.replicate(key)
	h.commit(key)
}

// replicate sends the batch to the backups that lack it.
func (h *host) replicate(key string) {
	e := h.entries[key]
	e.backups.Sent(h.now)
	for _, n := range h.backups() {
		if e.backups.Lacks(n) {
			h.replicateOne(key, n)
		}
	}
}

func (h *host) replicateOne(key string, n phalanx.NodeID) {
	e := h.entries[key]
	m := batch{Key: key, Version: Version{h.terms.Term, e.Seq + 1}, Stamp: e.backups.Stamp()}
	if from, state := e.backups.From(n); state {
		end := min(from+h.piece, len(e.state))
		m.WithState, m.State, m.From, m.Total = true, string(e.state[from:end]), from, len(e.state)
		if end < len(e.state) {
			h.send(h.id, n, m)
			return
		}
	}
	m.Changes = slices.Clone(e.flight)
	h.send(h.id, n, m)
}

// commit makes the batch that all backups have, and answers.
func (h *host) commit(key string) {
	e := h.entries[key]
	if e.flight == nil || !e.backups.Confirmed() || !h.leased {
		return
	}
	done := e.flight
	e.flight = nil
	e.Copy = Copy{Version{h.terms.Term, e.Seq + 1}, h.id}
	e.state = append(e.state, strings.Join(done, "")...)
	h.answer(h.id, key, done, e)
	h.advance(key)
}

// install takes the newest replica of each key that was found, and has the backups get it.
func (h *host) install() {
	for _, key := range h.keys() {
		h.entries[key].pending = []string{""}
	}
	for _, e := range h.early {
		h.entry(e.key).pending = append(h.entry(e.key).pending, e.change)
	}
	h.early = nil
	for _, key := range h.keys() {
		h.advance(key)
	}
}

func (h *host) pauses() retry.Pauses { return h.trip.Pauses(50*time.Millisecond, time.Second) }

// tick has the host look at the time.
func (h *host) tick(now time.Duration) {
	h.now = now
	if !h.ready() {
		for _, m := range h.gathering.Late(h.now, h.pauses()) {
			h.send(h.id, m, h.gathering.Ask(h.now, m))
		}
		return
	}
	for _, key := range h.keys() {
		e := h.entries[key]
		if h.commit(key); e.flight != nil && !e.backups.Confirmed() && h.now >= e.backups.At(h.pauses()) {
			h.replicate(key)
		}
	}
}

// due returns when the host wants to look at the time.
func (h *host) due() (at time.Duration, ok bool) {
	if h.primary() != h.id {
		return 0, false
	}
	at, ok = h.gathering.Due(h.pauses())
	for _, e := range h.entries {
		if e.flight != nil && !e.backups.Confirmed() {
			if d := e.backups.At(h.pauses()); !ok || d < at {
				at, ok = d, true
			}
		}
	}
	return at, ok
}

func (h *host) heard(from phalanx.NodeID, m message) {
	if !slices.Contains(h.members, from) {
		return
	}
	switch m := m.(type) {
	case batch:
		h.batch(from, m)
	case confirm:
		h.confirmed(from, m)
	case Question:
		h.asked(from, m)
	case told:
		h.told(from, m)
	case refused:
		if h.terms.Begins(m.Term, h.view) {
			h.begin(m.Term)
		}
	case forget:
		if e := h.entries[m.Key]; e != nil && h.primary() != h.id && e.Forgets(from, m.Term, h.primary()) {
			delete(h.entries, m.Key)
			h.arrivals.End(m.Key)
		}
	}
}

// batch has a backup make a batch, if it has what comes before.
func (h *host) batch(from phalanx.NodeID, m batch) {
	if !h.terms.Heeds(m.Term, h.primary() == from) {
		h.send(h.id, from, refused{h.terms.Latest()})
		return
	}
	e, sure := h.entries[m.Key], confirm{Key: m.Key, Version: m.Version}
	switch {
	case e != nil && e.Has(m.Version):
		h.send(h.id, from, sure)
		return
	case m.WithState:
		a := h.arrivals.Of(m.Key, Batch{from, m.Version, m.Stamp})
		if a == nil {
			return
		}
		if a.Next(m.From, len(m.State), m.Total) {
			a.State = append(a.State, m.State...)
		}
		if !a.Whole() {
			h.send(h.id, from, confirm{m.Key, m.Version, Confirmation{Need: true, Have: a.Have(), Stamp: m.Stamp}})
			return
		}
		h.arrivals.End(m.Key)
		e = &entry{state: a.State}
		h.entries[m.Key] = e
	case e == nil || !e.Follows(m.Version):
		h.send(h.id, from, confirm{m.Key, m.Version, Confirmation{Need: true, Stamp: m.Stamp}})
		return
	}
	e.state = append(e.state, strings.Join(m.Changes, "")...)
	e.Copy = Copy{m.Version, from}
	h.send(h.id, from, sure)
}

func (h *host) confirmed(from phalanx.NodeID, m confirm) {
	e := h.entries[m.Key]
	if e == nil || !e.backups.Awaits(from, m.Version) {
		return
	}
	switch e.backups.Confirm(h.now, from, m.Confirmation) {
	case Confirmed:
		h.trip.Took(e.backups.Took(h.now))
		h.commit(m.Key)
	case Send:
		h.replicateOne(m.Key, from)
	}
}

// asked answers a primary that gathers with one replica in each part.
func (h *host) asked(from phalanx.NodeID, q Question) {
	switch h.terms.Gather(q.Term, h.view) {
	case Refuses:
		h.send(h.id, from, refused{h.terms.Latest()})
		return
	case Defers:
		return
	}
	t, do := h.tellings.Asked(h.now, from, q)
	if do == TellNothing {
		return
	}
	if do == TellAnew {
		for _, key := range h.keys() {
			t.Answer = append(t.Answer, h.entries[key].held(key))
		}
	}
	m := told{}
	if t.Part < len(t.Answer) {
		m.Held = t.Answer[t.Part]
	}
	t.More = t.Part+1 < len(t.Answer)
	m.Part = t.Head()
	h.send(h.id, from, m)
}

func (e *entry) held(key string) held { return held{key, e.Version, string(e.state)} }

func (h *host) told(from phalanx.NodeID, m told) {
	all := h.gathering.Take(from, m.Part)
	if all == nil {
		return
	}
	if *all = append(*all, m.Held); m.More {
		h.send(h.id, from, h.gathering.Ask(h.now, from))
		return
	}
	for _, one := range *all {
		if one.Key == "" {
			continue
		}
		if e := h.entry(one.Key); one.Newer(e.Version) {
			e.Version, e.state = one.Version, []byte(one.State)
		}
	}
	if h.gathering.Done() {
		h.install()
	}
}

// message is what hosts say to each other: a Question too.
type message any

type (
	batch struct {
		Key string
		Version
		Stamp       time.Duration
		WithState   bool
		State       string
		From, Total int
		Changes     []string
	}
	confirm struct {
		Key string
		Version
		Confirmation
	}
	held struct {
		Key string
		Version
		State string
	}
	told struct {
		Part
		Held held
	}
	refused struct{ Term uint64 }
	forget  struct {
		Key  string
		Term uint64
	}
)

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Term, v.Seq) }

// describe says what a message says; stamps do not show.
func describe(m message) string {
	switch m := m.(type) {
	case batch:
		s := fmt.Sprintf("batch %s %s", m.Key, m.Version)
		if m.WithState {
			s += fmt.Sprintf(" after %q from %d of %d", m.State, m.From, m.Total)
		}
		if len(m.Changes) > 0 {
			s += fmt.Sprintf(" changes %q", m.Changes)
		}
		return s
	case confirm:
		if m.Need {
			return fmt.Sprintf("needs the state before %s %s, has %d of it", m.Key, m.Version, m.Have)
		}
		return fmt.Sprintf("confirms %s %s", m.Key, m.Version)
	case Question:
		return fmt.Sprintf("asks in term %d for part %d", m.Term, m.Part)
	case told:
		s := fmt.Sprintf("tells in term %d part %d", m.Term, m.Part.Part)
		if m.Held.Key != "" {
			s += fmt.Sprintf(": %s %s %q", m.Held.Key, m.Held.Version, m.Held.State)
		}
		if m.More {
			s += ", and more"
		}
		return s
	case refused:
		return fmt.Sprintf("refuses, knows term %d", m.Term)
	case forget:
		return fmt.Sprintf("forgets %s in term %d", m.Key, m.Term)
	}
	return fmt.Sprintf("%T", m)
}
