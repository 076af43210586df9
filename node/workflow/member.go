package workflow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Member is an executor that gets the inputs of attempts which are in rows of the ledger: an order names them, since
// all of them may be too many for a message. An attempt begins once they are there.
type Member struct {
	core       *core.Executor
	now        time.Duration
	out        []MemberEffect
	epoch      uint64         // of the last Ask
	controller phalanx.NodeID // that has sent it
	fetches    map[core.AttemptID]*fetch
	seq        uint64
	repeats    agenda.Agenda[*fetch]
}

// fetch is an attempt that waits for inputs.
type fetch struct {
	order core.Order
	seq   uint64   // in the order in which they began
	lacks []string // keys, in order; the first one is in need
	need  map[string]bool
	have  map[string][]byte
	sent  retry.Backoff
	over  bool
}

// MemberEvent is what a Member hears.
type MemberEvent interface{ memberEvent() }

type (
	// Got brings a message of a controller.
	Got struct {
		From    phalanx.NodeID
		Message core.Message
	}
	// GotRows brings rows.
	GotRows struct {
		From phalanx.NodeID
		Rows HaveRows
	}
	// Local is another event of the executor: AttemptEnded, BlobSaved, Stored, Dropped, Leased or Tick.
	Local struct{ Event core.ExecutorEvent }
)

func (Got) memberEvent()     {}
func (GotRows) memberEvent() {}
func (Local) memberEvent()   {}

// MemberEffect is what the host of a Member must do.
type MemberEffect interface{ memberEffect() }

type (
	// Want sends a letter to the node of the controller.
	Want struct {
		To     phalanx.NodeID
		Letter WantRows
	}
	// Do is an effect of the executor. Of the inputs of a RunAttempt all bytes are there that are in the ledger.
	Do struct{ Effect core.ExecutorEffect }
	// Follows says that the controller of Epoch is on Node.
	Follows struct {
		Node  phalanx.NodeID
		Epoch uint64
	}
)

func (Want) memberEffect()    {}
func (Do) memberEffect()      {}
func (Follows) memberEffect() {}

// fetchAgain are the pauses between repeats of a WantRows.
var fetchAgain = retry.Pauses{First: 20 * time.Millisecond, Most: time.Second}

// NewMember returns the Member of an incarnation of a node.
func NewMember(o core.Offer) *Member {
	return &Member{core: core.NewExecutor(o), fetches: map[core.AttemptID]*fetch{}}
}

// Step takes an event and returns what the host must do, in that order.
func (m *Member) Step(now time.Duration, ev MemberEvent) []MemberEffect {
	m.now = max(m.now, now)
	switch ev := ev.(type) {
	case Got:
		if ask, is := ev.Message.(core.Ask); is && ask.Epoch > m.epoch {
			m.epoch, m.controller = ask.Epoch, ev.From
			m.emit(Follows{Node: ev.From, Epoch: ask.Epoch})
			for _, f := range m.sorted() { // the one before may not answer any more
				f.sent = retry.Backoff{}
				m.want(f)
			}
		}
		m.step(core.Heard{From: ev.From, Message: ev.Message})
	case GotRows:
		m.got(ev.Rows)
	case Local:
		m.step(ev.Event)
	}
	for {
		f, ok := m.repeats.Take(m.now)
		if !ok {
			break
		}
		m.want(f)
	}
	out := m.out
	m.out = nil
	return out
}

// Due returns when the Member has to hear of the time; false: it need not.
func (m *Member) Due() (at time.Duration, ok bool) {
	at, ok = m.core.Due()
	if a, some := m.repeats.Due(); some && (!ok || a < at) {
		at, ok = a, true
	}
	return at, ok
}

func (m *Member) emit(e MemberEffect) { m.out = append(m.out, e) }

func (m *Member) step(ev core.ExecutorEvent) {
	for _, e := range m.core.Step(m.now, ev) {
		switch e := e.(type) {
		case core.RunAttempt:
			m.begin(e.Order)
		case core.CancelAttempt:
			m.cancel(e)
		default:
			m.emit(Do{Effect: e})
		}
	}
}

// begin runs an attempt, or gets its inputs first.
func (m *Member) begin(o core.Order) {
	f := &fetch{order: o, seq: m.seq}
	m.seq++
	add := func(l core.Located) {
		if l.Row == "" || l.Output.Bytes != nil || f.need[l.Row] {
			return
		}
		if f.need == nil {
			f.need, f.have = map[string]bool{}, map[string][]byte{}
		}
		f.need[l.Row] = true
		f.lacks = append(f.lacks, l.Row)
	}
	for _, l := range o.Inputs {
		add(l)
	}
	if o.Output != nil {
		add(*o.Output)
	}
	if f.lacks == nil {
		m.emit(Do{Effect: core.RunAttempt{Order: o}})
		return
	}
	m.fetches[o.ID] = f
	m.want(f)
}

// want asks for the next rows.
func (m *Member) want(f *fetch) {
	if f.over {
		return
	}
	for n := -1; n != len(f.lacks); f.shorten() {
		n = len(f.lacks)
	}
	m.emit(Want{To: m.controller, Letter: WantRows{Epoch: m.epoch, Keys: slices.Clone(f.lacks[:min(MaxKeys, len(f.lacks))])}})
	f.sent.Sent(m.now)
	m.repeats.Set(f, f.sent.At(fetchAgain))
}

// got takes rows, for all attempts that wait for them.
func (m *Member) got(h HaveRows) {
	for _, f := range m.sorted() {
		some := false
		for _, r := range h.Rows {
			if f.need[r.Key] {
				delete(f.need, r.Key)
				f.have[r.Key] = r.Bytes
				some = true
			}
		}
		switch {
		case !some:
		case len(f.need) == 0:
			m.end(f)
			m.emit(Do{Effect: core.RunAttempt{Order: f.filled()}})
		default:
			f.sent = retry.Backoff{}
			m.want(f)
		}
	}
}

// shorten drops the first keys that are not needed any more, and those behind them among the next ones to be asked for.
func (f *fetch) shorten() {
	n := min(MaxKeys, len(f.lacks))
	next := slices.DeleteFunc(f.lacks[:n:n], func(key string) bool { return !f.need[key] })
	f.lacks = f.lacks[n-len(next):]
	copy(f.lacks, next)
}

// filled returns the order with the rows that were fetched.
func (f *fetch) filled() core.Order {
	o := f.order
	fill := func(l core.Located) core.Located {
		if b, is := f.have[l.Row]; is && l.Output.Bytes == nil {
			l.Output.Bytes, l.Row = b, ""
		}
		return l
	}
	o.Inputs = slices.Clone(o.Inputs)
	for i, l := range o.Inputs {
		o.Inputs[i] = fill(l)
	}
	if o.Output != nil {
		l := fill(*o.Output)
		o.Output = &l
	}
	return o
}

// cancel ends an attempt. One that waits for its inputs never begins.
func (m *Member) cancel(e core.CancelAttempt) {
	f := m.fetches[e.ID]
	if f == nil {
		m.emit(Do{Effect: e})
		return
	}
	m.end(f)
	m.step(core.AttemptEnded{ID: e.ID, Failed: "it was canceled before it began"})
}

func (m *Member) end(f *fetch) {
	f.over = true
	m.repeats.Cancel(f)
	delete(m.fetches, f.order.ID)
}

// sorted returns the attempts that wait for inputs, in order.
func (m *Member) sorted() []*fetch {
	return slices.SortedFunc(maps.Values(m.fetches), func(a, b *fetch) int { return cmp.Compare(a.seq, b.seq) })
}
