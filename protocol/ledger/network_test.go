package ledger

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// network hosts several cores: it carries their effects to each other and to model disks, one
// event at a time, in an order that depends on nothing but its seed.
type network struct {
	cfg      Config
	rng      *rand.Rand // nil: nothing is lost, everything takes the same time
	drop     float64
	dup      float64
	now      time.Duration
	seq      int
	queue    deliveries
	machines []*machine
	cut      map[[2]uint64]bool
	streams  map[uint64]*image // rows that hosts received
	stream   uint64
	pace     time.Duration                 // the longest pause of a controller
	quiet    bool                          // controllers append nothing
	swallow  func(m *machine, e Send) bool // nil: nothing besides
	onStep   func(m *machine, ev Event, out []Effect)
	onTenure func(m *machine) // after it has begun; nil: nothing
	onOpen   func(m *machine, cfg Config, s State)
	fail     func(format string, args ...any)
}

// machine is a disk, and the core that has opened it.
type machine struct {
	*Core
	id     uint64
	disk   *platter
	life   int // of the core: what was under way for an earlier one does not matter
	up     bool
	hung   bool
	kept   []func()
	skew   time.Duration
	set    int           // the timer
	spins  int           // how often it was due at once
	writer *writer       // not nil during a tenure
	last   time.Duration // when the last event of a controller comes
	halted bool
}

// image is the content of a disk.
type image struct {
	hard        *raftpb.HardState
	conf        *raftpb.ConfState
	applied     uint64
	appliedTerm uint64
	first       uint64
	entries     []*raftpb.Entry
	rows        map[string]string
	hash        uint64 // of rows
}

// platter is a disk that loses at power loss what was not synced.
type platter struct {
	now      image
	durable  image
	unsynced []Write
	busy     *Write
	stall    time.Duration // no write ends before
	fails    bool          // the next write does
	poisoned bool
	lost     bool
	opened   uint64
}

func rowHash(key, value string) uint64 {
	return sum([]byte(key))*31 + sum([]byte(value))
}

func (i *image) clone() image {
	c := *i
	c.rows, c.entries = maps.Clone(i.rows), slices.Clone(i.entries)
	return c
}

func (i *image) remove(key string) {
	if value, ok := i.rows[key]; ok {
		i.hash ^= rowHash(key, value)
		delete(i.rows, key)
	}
}

// apply does what a Write asks for, in the order of its fields.
func (i *image) apply(w Write, streams map[uint64]*image) {
	if in := w.Install; in != nil {
		rows := streams[in.Stream]
		i.rows, i.hash = maps.Clone(rows.rows), rows.hash
		i.applied, i.appliedTerm, i.conf = in.Index, in.Term, in.Conf
		i.entries, i.first = nil, in.Index+1
	}
	for _, r := range w.Rows {
		switch {
		case r.End != "":
			for key := range i.rows {
				if r.Key <= key && key < r.End {
					i.remove(key)
				}
			}
		default:
			i.remove(r.Key)
			if r.Value != nil {
				i.rows[r.Key] = string(r.Value)
				i.hash ^= rowHash(r.Key, string(r.Value))
			}
		}
	}
	if w.Conf != nil {
		i.conf = w.Conf
	}
	if len(w.Entries) > 0 {
		at := w.Entries[0].GetIndex()
		if len(i.entries) == 0 {
			i.first = at
		}
		i.entries = append(slices.Clip(i.entries[:at-i.first]), w.Entries...)
	}
	if w.Applied > 0 {
		i.applied = w.Applied
		i.appliedTerm = i.entries[w.Applied-i.first].GetTerm()
	}
	if w.Hard != nil {
		i.hard = w.Hard
	}
	if w.Compact > 0 && w.Compact >= i.first {
		i.entries = i.entries[w.Compact-i.first+1:]
		i.first = w.Compact + 1
	}
}

// has reports whether the disk has an entry, or its rows.
func (i *image) has(index, term uint64) bool {
	if index <= i.applied {
		return true
	}
	return index >= i.first && index < i.first+uint64(len(i.entries)) && i.entries[index-i.first].GetTerm() == term
}

func newPlatter() *platter {
	empty := func() image { return image{rows: map[string]string{}} }
	return &platter{now: empty(), durable: empty()}
}

// write does what a Write asks for.
func (p *platter) write(w Write, streams map[uint64]*image) {
	p.now.apply(w, streams)
	p.unsynced = append(p.unsynced, w)
	if w.Sync {
		for _, u := range p.unsynced {
			p.durable.apply(u, streams)
		}
		p.unsynced = nil
	}
}

func (p *platter) state(id uint64) State {
	i := p.now.clone()
	return State{Replica: id, Hard: i.hard, Conf: i.conf, Applied: i.applied, AppliedTerm: i.appliedTerm, First: i.first, Entries: i.entries}
}

type delivery struct {
	at  time.Duration
	seq int
	do  func()
}

type deliveries []delivery

func (d deliveries) Len() int { return len(d) }
func (d deliveries) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].seq < d[j].seq
}
func (d deliveries) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *deliveries) Push(x any)   { *d = append(*d, x.(delivery)) }
func (d *deliveries) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

func newNetwork(cfg Config) *network {
	if cfg.Ledger == 0 {
		cfg.Ledger = 7
	}
	return &network{cfg: cfg, cut: map[[2]uint64]bool{}, streams: map[uint64]*image{}}
}

// add returns a new machine with an empty disk.
func (w *network) add(id uint64) *machine {
	m := &machine{id: id, disk: newPlatter()}
	if w.rng != nil {
		m.skew = time.Duration(w.rng.Intn(1000)) * time.Second
	}
	w.machines = append(w.machines, m)
	return m
}

// create returns the only machine of a new ledger.
func (w *network) create(id uint64) *machine {
	m := w.add(id)
	m.disk.write(Create(id), nil)
	w.open(m)
	return m
}

// open starts a core on a machine's disk.
func (w *network) open(m *machine) {
	m.disk.opened++
	cfg := w.cfg
	cfg.Opened, cfg.Run = m.disk.opened, uint64(len(w.queue))<<16|uint64(w.seq)
	if w.onOpen != nil {
		w.onOpen(m, cfg, m.disk.state(m.id))
	}
	core, err := New(cfg, m.disk.state(m.id))
	if err != nil {
		w.fail("replica %d cannot be opened: %v", m.id, err)
		return
	}
	m.Core, m.up, m.hung, m.kept, m.writer, m.halted = core, true, false, nil, nil, false
	m.life++
	w.step(m, Tick{})
}

// kill ends a core. The write that was under way may have been done.
func (w *network) kill(m *machine) {
	if m.up && m.disk.busy != nil && w.rng != nil && w.rng.Intn(2) == 0 && !m.disk.fails && !m.disk.poisoned {
		m.disk.write(*m.disk.busy, w.streams)
	}
	m.disk.busy = nil
	m.up, m.writer = false, nil
	m.life++
}

// power ends a core and takes back what its disk has not synced, but for a part that got there.
func (w *network) power(m *machine) {
	w.kill(m)
	m.disk.now = m.disk.durable.clone()
	keep := 0
	if w.rng != nil {
		keep = w.rng.Intn(len(m.disk.unsynced) + 1)
	}
	for _, u := range m.disk.unsynced[:keep] {
		m.disk.now.apply(u, w.streams)
	}
	m.disk.unsynced = nil
	m.disk.durable = m.disk.now.clone() // it is read from there
}

func (w *network) machine(id uint64) *machine {
	for _, m := range w.machines {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (w *network) leader() *machine {
	for _, m := range w.machines {
		if m.up && m.lead != nil && m.lead.began && !m.lead.ended {
			return m
		}
	}
	return nil
}

func (w *network) at(at time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, delivery{at: at, seq: w.seq, do: do})
}

// to brings something to a machine later, if the core lives that long.
func (w *network) to(m *machine, at time.Duration, do func()) {
	life := m.life
	w.at(at, func() {
		switch {
		case !m.up || m.life != life:
		case m.hung:
			m.kept = append(m.kept, func() {
				if m.up && m.life == life {
					do()
				}
			})
		default:
			do()
		}
	})
}

// arrive brings a message to the core that runs then.
func (w *network) arrive(id uint64, at time.Duration, ev Event) {
	w.at(at, func() {
		if m := w.machine(id); m != nil && m.up {
			life := m.life
			do := func() {
				if m.up && m.life == life {
					w.step(m, ev)
				}
			}
			if m.hung {
				m.kept = append(m.kept, do)
			} else {
				do()
			}
		}
	})
}

func (w *network) resume(m *machine) {
	kept := m.kept
	m.hung, m.kept = false, nil
	for _, do := range kept {
		do()
	}
}

// run lets everything happen until d has passed.
func (w *network) run(d time.Duration) {
	end := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= end {
		next := heap.Pop(&w.queue).(delivery)
		w.now = next.at
		next.do()
	}
	w.now = end
}

func (w *network) random(low, high time.Duration) time.Duration {
	if w.rng == nil || high <= low {
		return low
	}
	return low + time.Duration(w.rng.Int63n(int64(high-low)))
}

func (w *network) chance(p float64) bool { return w.rng != nil && w.rng.Float64() < p }

func (w *network) step(m *machine, ev Event) {
	if !m.up || m.halted {
		return
	}
	out := m.Step(w.now+m.skew, ev)
	for _, e := range out {
		w.carry(m, e)
	}
	if w.onStep != nil {
		w.onStep(m, ev, out)
	}
	m.set++
	set := m.set
	due, ok := m.Due()
	if _, tick := ev.(Tick); tick && ok && due-m.skew <= w.now {
		if m.spins++; m.spins > 5 {
			w.fail("replica %d ticks at %v, and is due at %v for ever", m.id, w.now, due-m.skew)
			return
		}
	} else {
		m.spins = 0
	}
	if ok {
		w.to(m, max(due-m.skew, w.now), func() {
			if m.set == set {
				w.step(m, Tick{})
			}
		})
	}
}

func (w *network) carry(m *machine, e Effect) {
	switch e := e.(type) {
	case Send:
		w.send(m, e)
	case Persist:
		w.persist(m, e.Write)
	case SendSnapshot:
		w.sendSnapshot(m, e)
	case DropStream:
		delete(w.streams, e.Stream)
	case TenureBegan:
		m.writer = newWriter(w, m, e.Epoch)
		if w.onTenure != nil {
			w.at(w.now+time.Millisecond, func() { w.onTenure(m) })
		}
	case TenureEnded:
		if m.writer != nil {
			m.writer.ended = true
		}
	case Done:
		m.writer.done(e.Number)
	case Refused:
		if m.writer != nil && m.writer.epoch == e.Epoch {
			m.writer.refused(e)
		}
	case Halted:
		m.halted = true
	}
}

func (w *network) send(m *machine, e Send) {
	if w.cut[[2]uint64{m.id, e.To}] || w.swallow != nil && w.swallow(m, e) {
		return
	}
	for copies := 2; copies > 0; copies-- {
		if copies == 2 && !w.chance(w.dup) || w.chance(w.drop) {
			continue
		}
		w.arrive(e.To, w.now+w.random(500*time.Microsecond, 4*time.Millisecond), Receive{From: m.id, Data: e.Data})
	}
}

func (w *network) persist(m *machine, write Write) {
	d := m.disk
	if d.busy != nil {
		w.fail("replica %d writes %d while %d is under way", m.id, write.Number, d.busy.Number)
	}
	for i, e := range write.Entries {
		if i > 0 && (e.GetIndex() != write.Entries[i-1].GetIndex()+1 || e.GetTerm() < write.Entries[i-1].GetTerm()) {
			w.fail("replica %d writes %v", m.id, write.Entries)
		}
	}
	d.busy = &write
	delay := w.random(100*time.Microsecond, 3*time.Millisecond)
	if !write.Sync {
		delay = w.random(20*time.Microsecond, 100*time.Microsecond)
	}
	w.finish(m, write, w.now+delay)
}

func (w *network) finish(m *machine, write Write, at time.Duration) {
	life := m.life
	w.at(at, func() { // the disk works on while its machine's process hangs
		d := m.disk
		switch {
		case m.life != life:
		case w.now < d.stall:
			w.finish(m, write, min(d.stall, w.now+100*time.Millisecond)) // the stall may end earlier
		case d.fails:
			d.fails, d.poisoned, d.busy = false, true, nil
			w.to(m, w.now, func() { w.step(m, WriteFailed{}) })
		default:
			d.busy = nil
			d.write(write, w.streams)
			w.to(m, w.now, func() { w.step(m, Written{Number: write.Number}) })
		}
	})
}

// sendSnapshot carries the rows of the disk after the last Write.
func (w *network) sendSnapshot(m *machine, e SendSnapshot) {
	rows := m.disk.now.clone()
	if m.disk.busy != nil {
		rows.apply(*m.disk.busy, w.streams)
	}
	if m.disk.poisoned {
		w.to(m, w.now, func() { w.step(m, SnapshotFailed{To: e.To}) })
		return
	}
	if rows.applied != e.Index {
		w.fail("replica %d sends the rows of entry %d as those of %d", m.id, rows.applied, e.Index)
	}
	at := w.now + w.random(5*time.Millisecond, 200*time.Millisecond)
	w.at(at, func() {
		to := w.machine(e.To)
		if w.cut[[2]uint64{m.id, e.To}] || w.chance(w.drop) || to == nil || !to.up || to.hung {
			w.to(m, w.now, func() { w.step(m, SnapshotFailed{To: e.To}) })
			return
		}
		w.stream++
		w.streams[w.stream] = &rows
		w.step(to, SnapshotArrived{From: m.id, Data: e.Data, Stream: w.stream})
		w.to(m, w.now, func() { w.step(m, SnapshotSent{To: e.To}) })
	})
}

// writer is a controller: it appends during a tenure, and goes on for a while after it has ended.
type writer struct {
	w     *network
	m     *machine
	epoch uint64
	next  uint64 // number
	out   int    // appends without an answer
	acked uint64
	ended bool
	bulk  int // bytes in each append
}

func newWriter(w *network, m *machine, epoch uint64) *writer {
	a := &writer{w: w, m: m, epoch: epoch, next: 1}
	if w.rng != nil {
		a.bulk = w.rng.Intn(200)
		a.later()
	}
	return a
}

// later has the writer append in a while.
func (a *writer) later() {
	w := a.w
	a.m.last = max(a.m.last, w.now+w.random(0, w.pace))
	w.to(a.m, a.m.last, func() {
		if w.quiet || a.ended && w.rng.Intn(3) == 0 {
			return
		}
		for range 1 + w.rng.Intn(4) {
			if a.out < 12 {
				a.append()
			}
		}
		if w.rng.Intn(4) == 0 {
			w.step(a.m, Read{ID: uint64(w.rng.Int63())})
		}
		a.later()
	})
}

// value returns a value of any size up to bulk, but mostly one of about that size.
func (a *writer) value() []byte {
	if a.w.chance(0.3) {
		return make([]byte, a.w.rng.Intn(a.bulk+1))
	}
	return make([]byte, a.bulk)
}

func (a *writer) append() {
	rows := []Row{{Key: fmt.Sprintf("a/%d/%d", a.epoch, a.next), Value: a.value()}}
	if a.w.rng != nil {
		key := func() string { return fmt.Sprintf("k%d", a.w.rng.Intn(6)) }
		switch a.w.rng.Intn(4) {
		case 0:
			rows = append(rows, Row{Key: key()})
		case 1:
			rows = append(rows, Row{Key: "k" + fmt.Sprint(a.w.rng.Intn(3)), End: "k" + fmt.Sprint(3+a.w.rng.Intn(3))})
		default:
			rows = append(rows, Row{Key: key(), Value: fmt.Append(nil, a.epoch, a.next)})
		}
	}
	a.out++
	number := a.next
	a.next++
	// It does not wait for the answer to the append before.
	a.m.last = max(a.m.last, a.w.now+a.w.random(0, 2*time.Millisecond))
	a.w.to(a.m, a.m.last, func() { a.w.step(a.m, Append{Epoch: a.epoch, Number: number, Rows: rows}) })
}

func (a *writer) done(number uint64) {
	a.out--
	a.acked = number
}

func (a *writer) refused(e Refused) {
	a.out--
	if e.Reason != Fenced {
		a.next = min(a.next, e.Number)
	}
}
