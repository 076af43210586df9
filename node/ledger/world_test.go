package ledger_test

import (
	"bytes"
	"container/heap"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// world hosts the Cores of some nodes on disks in memory. It does one thing at a time, in an order that
// depends on its seed alone.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	drop  float64
	now   time.Duration
	seq   int
	queue deliveries
	hosts []*host
	view  uint64
	disks uint64
	cfg   node.Config

	acked    map[string]string // rows whose append was done
	epochs   map[uint64]string
	replaced []node.Replaced
	met      int
	stream   uint64

	refuses  bool // the hosts of nodes that are not up refuse connections; else they are silent
	clusters bool // nodes come into clusters by themselves; else all that are there are in one view
	begun    []*cluster
}

// host is one node.
type host struct {
	w       *world
	name    string
	machine string
	folder  *memory.Folder // nil: none
	disk    *memory.Disk
	core    *node.Core
	life    int
	up      bool
	leaving bool
	begun   bool // it begins the cluster as it starts for the first time
	temp    bool
	epoch   uint64
	number  uint64
	leads   node.Lead
	remains node.Remains
	halted  error
	fails   bool          // the next write does
	asks    int           // questions to others
	enters  int           // orders to enter a cluster
	lapsed  bool          // it gets no lease
	lacks   int           // leases that it could not have got in a row
	wanted  time.Duration // until then it wants a lease
	keeps   bool          // it was told that its replica stays behind
	deaf    bool          // it gets nothing, and nothing of it arrives
	foreign bool          // of another ledger
	known   []string
	timer   time.Duration

	cluster     *cluster // nil: none
	incarnation int
	recording   *recording
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

func newWorld(t *testing.T, seed int64) *world {
	return &world{t: t, rng: rand.New(rand.NewSource(seed)), acked: map[string]string{}, epochs: map[uint64]string{},
		cfg: node.Config{AwayAfter: 20 * time.Second}}
}

// node adds a node, whose folder is empty.
func (w *world) node(name, machine string) *host {
	h := &host{w: w, name: name, machine: machine, folder: w.folder(), begun: len(w.hosts) == 0}
	w.hosts = append(w.hosts, h)
	return h
}

func (w *world) folder() *memory.Folder {
	w.disks++
	return memory.NewFolder(w.disks, durable.Space{Free: 90e9, Total: 100e9})
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, delivery{w.now + d, w.seq, do})
}

func (w *world) soon(do func()) { w.after(time.Duration(1+w.rng.Intn(3000))*time.Microsecond, do) }

// run has the time pass.
func (w *world) run(d time.Duration) {
	for end := w.now + d; ; {
		if len(w.queue) == 0 || w.queue[0].at > end {
			w.now = end
			return
		}
		next := heap.Pop(&w.queue).(delivery)
		w.now = next.at
		next.do()
	}
}

// until has the time pass until something holds.
func (w *world) until(what string, most time.Duration, holds func() bool) {
	w.t.Helper()
	for end := w.now + most; !holds(); {
		if w.now >= end {
			w.t.Fatalf("after %v there is still no %s\n%s", most, what, w)
		}
		w.run(10 * time.Millisecond)
	}
}

func (w *world) String() string {
	text := ""
	for _, h := range w.hosts {
		text += fmt.Sprintf("%s up %v epoch %d lead %+v halted %v remains %+v\n", h.name, h.up, h.epoch, h.leads, h.halted, h.remains)
		if h.up && h.core != nil {
			text += h.core.String() + "\n"
		}
	}
	return text
}

// start starts a node's process.
func (h *host) start() {
	w := h.w
	h.life++
	h.up, h.leaving, h.halted, h.leads, h.epoch, h.timer = true, false, nil, node.Lead{}, 0, 0
	cfg := w.cfg
	cfg.Address, cfg.Host, cfg.Addresses, cfg.Temporary = h.address(), h.machine, h.known, h.temp
	cfg.Name = h.name
	cfg.Run = w.rng.Uint64() | 1
	if h.folder != nil {
		var err error
		if h.disk, err = h.folder.Open(memory.Config{Later: func(f func()) { w.soon(f) }}); err != nil {
			w.t.Fatal(err)
		}
		identity := h.disk.Identity()
		cfg.Disk, cfg.Opened, cfg.Generation = identity.Disk, identity.Opens, h.disk.Generation()
		cfg.Ledger, _ = strconv.ParseUint(identity.Cluster, 16, 64)
		cfg.Addresses = slices.Concat(cfg.Addresses, h.disk.Remembered())
	}
	var err error
	if h.core, err = node.New(cfg); err != nil {
		w.t.Fatal(err)
	}
	if cfg.Ledger != 0 {
		h.open(cfg.Ledger)
	} else {
		h.step(node.Tick{})
	}
	if w.clusters {
		h.joins(cfg.Ledger != 0)
		return
	}
	w.changeView()
}

func (h *host) address() string { return h.name + ":1" }

func (h *host) id() phalanx.NodeID {
	return phalanx.MakeNodeID(h.name, uint64(h.life)<<16|uint64(h.incarnation))
}

// kill ends a node's process, and loses some of what its disk has not synced.
func (h *host) kill() {
	h.up = false
	h.life++
	if h.folder != nil {
		h.folder.Crash(func(n int) int { return h.w.rng.Intn(n + 1) })
	}
	if c := h.cluster; c != nil {
		h.cluster = nil
		c.changed()
	}
	h.w.changeView()
}

// changeView has all nodes learn who is there, a little later.
func (w *world) changeView() {
	if w.clusters {
		return
	}
	w.view++
	number := w.view
	v := node.Viewed{Number: number}
	for _, h := range w.hosts {
		if h.up {
			v.Members = append(v.Members, node.Member{Node: h.id(), Address: h.address(), Keeps: true, Votes: true, Leaving: h.leaving})
		}
	}
	for _, h := range w.hosts {
		if h.up {
			h.later(10*time.Millisecond, func() {
				if number == w.view {
					own := v
					own.Self, own.First = h.id(), h.begun && h.life == 1
					h.step(own)
					h.step(node.Leased{Until: w.now + 24*time.Hour})
				}
			})
		}
	}
}

// later does something if the process still runs then.
func (h *host) later(d time.Duration, do func()) {
	life := h.life
	h.w.after(d, func() {
		if h.up && h.life == life {
			do()
		}
	})
}

func (h *host) open(id uint64) {
	state, err := h.disk.State()
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.step(node.Opened{Ledger: id, State: state})
}

func (h *host) step(ev node.Event) {
	for _, e := range h.core.Step(h.w.now, ev) {
		h.do(e)
	}
	if at, ok := h.core.Due(); ok && (h.timer <= h.w.now || at < h.timer) {
		h.timer = max(at, h.w.now+time.Millisecond)
		h.later(h.timer-h.w.now, func() { h.step(node.Tick{}) })
	}
}

// to brings something to the node at an address, or not.
func (w *world) to(address string, do func(*host)) {
	if w.rng.Float64() < w.drop {
		return
	}
	for _, h := range w.hosts {
		if h.up && h.address() == address && !h.deaf {
			life := h.life
			w.soon(func() {
				if h.up && h.life == life {
					do(h)
				}
			})
		}
	}
}

// hang cuts a node off until the returned function is called. Its view stays as it is.
func (h *host) hang() func() {
	h.deaf = true
	return func() { h.deaf = false }
}

func (h *host) do(e node.Effect) {
	w := h.w
	switch e := e.(type) {
	case node.Say:
		if e.Hello.Asks {
			h.asks++
		}
		if h.deaf {
			return
		}
		w.to(e.To, func(o *host) { o.step(node.Heard{Hello: e.Hello}) })
		if w.refuses && !slices.ContainsFunc(w.hosts, func(o *host) bool { return o.up && o.address() == e.To }) {
			h.later(time.Millisecond, func() { h.step(node.NotListening{Address: e.To}) })
		}
	case node.Post:
		if h.deaf {
			return
		}
		w.to(e.Address, func(o *host) {
			o.step(node.Letter{Address: h.address(), From: e.From, To: e.To, Data: e.Data})
		})
	case node.Create:
		id, err := h.disk.Begin()
		if err != nil {
			w.t.Fatal(err)
		}
		h.disk.Apply(ledger.Create(id), h.answer(func(error) { h.bind(e.Ledger) }))
	case node.Adopt:
		if _, err := h.disk.Begin(); err != nil {
			w.t.Fatal(err)
		}
		h.bind(e.Ledger)
	case node.FromReplica:
		h.fromReplica(e.Effect)
	case node.SendSnapshot:
		h.snapshot(e)
	case node.Remember:
		h.check(h.disk.Remember(e.Addresses))
	case node.Leads:
		h.leads = e.Lead
	case node.Replaced:
		w.replaced = append(w.replaced, e)
	case node.Met:
		w.met++
	case node.Remains:
		h.remains = e
	case node.Keeps:
		h.keeps = true
	case node.Outdated:
		h.check(h.disk.SawGeneration(e.Generation))
	case node.Halted:
		h.halted = e.Err
	case node.WantLease:
		if h.wanted = w.now + 2*time.Second; h.cluster != nil && h.cluster.alive() && !h.lapsed {
			h.lease()
		}
	case node.ReadRecord:
		h.readRecord(e.Epoch)
	case node.Record:
		h.record(e)
	case node.Begin:
		h.later(0, func() { w.begin(h, e.Restarts) })
	case node.Enter:
		h.enters++
		h.later(0, func() {
			for _, o := range w.hosts {
				if c := o.cluster; o.up && o.address() == e.Address && c != nil && c.alive() {
					c.enter(h)
				}
			}
		})
	}
}

func (h *host) check(err error) {
	if err != nil {
		h.w.t.Fatal(err)
	}
}

func (h *host) bind(id uint64) {
	h.check(h.disk.Join(fmt.Sprintf("%016x", id)))
	h.later(0, func() { h.open(id) })
}

// answer has the disk's answer come to this process.
func (h *host) answer(do func(error)) func(error) {
	life := h.life
	return func(err error) {
		if h.up && h.life == life {
			do(err)
		}
	}
}

func (h *host) fromReplica(e ledger.Effect) {
	w := h.w
	switch e := e.(type) {
	case ledger.Persist:
		if h.fails {
			h.fails = false
			h.folder.Fail()
		}
		h.disk.Apply(e.Write, h.answer(func(err error) {
			if err != nil {
				h.step(node.ForReplica{Event: ledger.WriteFailed{}})
			} else {
				h.step(node.ForReplica{Event: ledger.Written{Number: e.Write.Number}})
			}
		}))
	case ledger.TenureBegan:
		if by, ok := w.epochs[e.Epoch]; ok && !h.foreign {
			w.t.Fatalf("%s begins the tenure %d, which %s has begun", h.name, e.Epoch, by)
		}
		w.epochs[e.Epoch] = h.name
		h.epoch, h.number = e.Epoch, 0
		if h.foreign {
			return
		}
		rows := map[string]string{}
		h.check(h.disk.Scan("", func(r ledger.Row) bool { rows[r.Key] = string(r.Value); return true }))
		for _, key := range slices.Sorted(maps.Keys(w.acked)) {
			if rows[key] != w.acked[key] {
				w.t.Fatalf("%s begins the tenure %d without the row %s", h.name, e.Epoch, key)
			}
		}
		h.append()
	case ledger.TenureEnded:
		h.epoch = 0
	case ledger.Done:
		w.acked[key(e.Epoch, e.Number)] = strconv.FormatUint(e.Number, 10)
		if h.recording != nil && h.recording.number == e.Number && h.recording.epoch == e.Epoch {
			h.recorded()
		}
	case ledger.DropStream:
		_ = h.disk.Abandon(e.Stream) // a poisoned disk fails
	}
}

func key(epoch, number uint64) string { return fmt.Sprintf("%d/%d", epoch, number) }

// append appends a row, and again a little later.
func (h *host) append() {
	if h.epoch == 0 {
		return
	}
	epoch := h.epoch
	h.later(50*time.Millisecond, func() {
		if h.epoch == epoch {
			h.number++
			number := h.number
			h.step(node.ForReplica{Event: ledger.Append{Epoch: epoch, Number: number, Rows: []ledger.Row{{Key: key(epoch, number), Value: []byte(strconv.FormatUint(number, 10))}}}})
			h.append()
		}
	})
}

// snapshot streams the rows to another node.
func (h *host) snapshot(e node.SendSnapshot) {
	w := h.w
	fail := func() { h.step(node.ForReplica{Event: ledger.SnapshotFailed{To: e.To}}) }
	life := h.life
	h.disk.Snapshot(func(s durable.Snapshot, err error) {
		if err != nil {
			h.later(0, fail)
			return
		}
		var rows bytes.Buffer
		_, err = s.WriteTo(&rows)
		_ = s.Close()
		came := false
		if err == nil {
			w.to(e.Address, func(o *host) {
				w.stream++
				stream := w.stream
				if o.disk == nil || o.disk.Receive(stream, &rows) != nil {
					return
				}
				came = true
				o.step(node.ForReplica{Event: ledger.SnapshotArrived{From: e.From, Data: e.Data, Stream: stream}})
			})
		}
		if h.up && h.life == life {
			h.later(time.Second, func() {
				if came {
					h.step(node.ForReplica{Event: ledger.SnapshotSent{To: e.To}})
				} else {
					fail()
				}
			})
		}
	})
}

// leader returns the node whose tenure goes on.
func (w *world) leader() *host {
	for _, h := range w.hosts {
		if h.up && h.epoch != 0 {
			return h
		}
	}
	return nil
}

// voters returns the names of the nodes that the leader's group has, sorted.
func (w *world) voters() string {
	h := w.leader()
	if h == nil {
		return ""
	}
	var names []string
	for _, id := range h.core.Voters() {
		names = append(names, w.holder(id))
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// holder returns the name of the node that has a replica's disk.
func (w *world) holder(replica uint64) string {
	for _, h := range w.hosts {
		if h.up && h.disk != nil && h.disk.Identity().Disk == replica>>16 {
			return h.name
		}
	}
	return "none"
}

// refusals gives a node an event for its replica, and counts the refusals.
func (h *host) refusals(ev ledger.Event) (n int) {
	for _, e := range h.core.Step(h.w.now, node.ForReplica{Event: ev}) {
		if f, ok := e.(node.FromReplica); ok {
			switch f.Effect.(type) {
			case ledger.Refused, ledger.NotReadable:
				n++
			}
		}
	}
	return n
}

// recording is a Record that is on its way.
type recording struct {
	epoch, number uint64
	record        ledger.Record
}

// record appends who begins the cluster.
func (h *host) record(e node.Record) {
	epoch := h.epoch
	if epoch == 0 || epoch != e.Epoch {
		return
	}
	value := fmt.Sprintf("%d %s %s", e.Record.Number, e.Record.Node, e.Record.Address)
	h.later(0, func() {
		if h.epoch == epoch {
			h.number++
			h.recording = &recording{epoch, h.number, e.Record}
			h.step(node.ForReplica{Event: ledger.Append{Epoch: epoch, Number: h.number, Rows: []ledger.Row{
				{Key: "boot", Value: []byte(value)}, {Key: key(epoch, h.number), Value: []byte(strconv.FormatUint(h.number, 10))}}}})
		}
	})
}

func (h *host) recorded() {
	r := h.recording
	h.recording = nil
	h.later(0, func() { h.step(node.Recorded{Epoch: r.epoch, Record: r.record}) })
}

func (h *host) readRecord(epoch uint64) {
	value, found, err := h.disk.Get("boot")
	h.check(err)
	var r ledger.Record
	if found {
		if _, err := fmt.Sscan(string(value), &r.Number, &r.Node, &r.Address); err != nil {
			h.w.t.Fatal(err)
		}
	}
	h.later(time.Millisecond, func() { h.step(node.Recorded{Epoch: epoch, Record: r}) })
}

// begin has a node begin a cluster.
func (w *world) begin(h *host, restarts uint64) {
	c := &cluster{restarts: restarts, by: h}
	w.begun = append(w.begun, c)
	old := h.cluster
	c.enter(h)
	if old != nil {
		old.changed()
	}
	c.lease(w)
}

// joins has a node that starts enter a cluster that works, or begin the first one. One whose folder belongs to a ledger
// begins none.
func (h *host) joins(resumes bool) {
	w := h.w
	if len(w.begun) == 0 {
		w.begin(h, 0)
		return
	}
	for i := len(w.begun) - 1; i >= 0; i-- {
		if c := w.begun[i]; c.alive() && !resumes {
			c.enter(h)
			return
		}
	}
}

// viewOf has a node learn the view of its cluster.
func (h *host) viewOf(c *cluster) {
	v := node.Viewed{Self: h.id(), Number: c.view, Restarts: c.restarts, First: c.by == h && c.restarts == 0 && h.life == 1}
	for _, m := range c.members {
		v.Members = append(v.Members, node.Member{Node: m.id(), Address: m.address(), Keeps: true, Votes: true})
	}
	h.later(time.Millisecond, func() {
		if h.cluster == c && c.view == v.Number {
			h.step(v)
		}
	})
}

// lease gives a node a lease.
func (h *host) lease() { h.later(0, func() { h.step(node.Leased{Until: h.w.now + time.Second}) }) }
