package workflow

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// world is a ledger, nodes with executors, controllers of one tenure after the other, a network that loses,
// delays, repeats and reorders, clients, and outsiders that see effects.
type world struct {
	t     testing.TB
	seed  uint64
	r     *rand.Rand
	now   time.Duration
	calm  bool // no faults any more
	met   map[string]int
	rough config

	rows    map[string]RowValue // durable
	applied int                 // writes
	begun   map[attemptOf]bool  // durable
	partial map[UID]Batch       // batches without their last piece
	epoch   uint64
	tenures []*tenure // those that live, the last one is the present one

	boot   uint64
	views  []Members
	nodes  map[phalanx.NodeID]*machine // that live, in the view or not
	names  int
	copies map[Blob]bool // outputs of which there was a copy
	gone   []Blob        // that nobody has, and no controller was told of
	disks  map[string]map[Blob]uint64

	net []packet

	runs    map[string]*client
	caller  Caller
	calling map[Caller]asked
	results map[UID]string
	outside map[UID]*outside
}

type config struct{ retries, losses int }

type attemptOf struct {
	run     UID
	task    int
	gen     uint32
	attempt Attempt
}

// tenure is a controller with what its host has to do.
type tenure struct {
	c      *Controller
	name   phalanx.NodeID
	loaded bool
	queue  []Write // not durable
	told   []uint64
	later  []ControlEvent
	view   int // the last that was heard
}

// machine is a process.
type machine struct {
	id     phalanx.NodeID
	disk   string
	x      *Executor
	inView bool
	dead   bool          // and the view has it still
	hangs  time.Duration // until then it does nothing
	store  map[Blob]uint64
	jobs   map[AttemptID]*task
	saves  []SaveBlob
}

// task is an attempt on a node.
type task struct {
	o    Order
	ends bool
}

type packet struct {
	at       time.Duration
	from, to phalanx.NodeID
	m        Message
}

// client wants a run.
type client struct {
	id      string
	g       *Graph
	work    *Work
	uid     UID
	done    bool
	aborted bool
}

type asked struct {
	call Call
	run  *client
	to   phalanx.NodeID
}

// outside is what outsiders see of a run.
type outside struct {
	durable bool // its start is
	id      string
	g       *Graph
	s       shape
	journal map[int][]effect
	answers map[int]effect
	fences  map[int]Attempt
}

func newWorld(t testing.TB, seed uint64, met map[string]int) *world {
	r := rand.New(rand.NewPCG(seed, 77))
	w := &world{t: t, seed: seed, r: r, met: met, rows: map[string]RowValue{}, begun: map[attemptOf]bool{}, partial: map[UID]Batch{}, boot: 1,
		nodes: map[phalanx.NodeID]*machine{}, copies: map[Blob]bool{}, disks: map[string]map[Blob]uint64{}, runs: map[string]*client{},
		calling: map[Caller]asked{}, results: map[UID]string{}, outside: map[UID]*outside{}, rough: config{1 << 20, 1 << 20}}
	if seed%3 == 0 {
		w.rough = config{2, 2}
	}
	for range 1 + r.IntN(5) {
		w.join("")
	}
	w.newTenure()
	for i := range 1 + r.IntN(4) {
		w.want(fmt.Sprintf("run/%d", i))
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

// want has a client want a random run.
func (w *world) want(id string) {
	for {
		g := randomGraph(w.r, 1+w.r.IntN(6))
		for v := range g.Tasks {
			g.Tasks[v].Compensates = g.Tasks[v].Effect != None && w.r.IntN(4) == 0
			g.Tasks[v].Caught = g.Tasks[v].Checkpoint != Off && w.r.IntN(6) == 0
		}
		if _, err := Check(g); err == nil {
			w.runs[id] = &client{id: id, g: g, work: workOf(g, w.r.IntN(3))}
			return
		}
	}
}

// workOf returns a workflow of which some tasks run f@1 and others g@1.
func workOf(g *Graph, parts int) *Work {
	k := &Work{Graph: g, Functions: []Function{{"f", 1}, {"g", 1}}}
	h := fnv.New128a()
	for v := range g.Tasks {
		k.Calls = append(k.Calls, int32(v%2))
		fmt.Fprintf(h, "%+v", g.Tasks[v])
	}
	h.Sum(k.Digest[:0])
	for i := range parts {
		k.Parts = append(k.Parts, make([]byte, 100_000+i))
	}
	return k
}

// --- nodes

func (w *world) join(disk string) {
	w.names++
	if disk == "" {
		disk = fmt.Sprintf("disk%d", len(w.disks))
	}
	id := phalanx.MakeNodeID(fmt.Sprintf("n%d", w.names), uint64(w.names))
	offer := Offer{Slots: 1 + w.r.IntN(3), Functions: []Function{{"f", 1}, {"g", 1}}}
	if w.r.IntN(4) > 0 || w.calm {
		offer.Disk = disk
	}
	if w.disks[disk] == nil {
		w.disks[disk] = map[Blob]uint64{}
	}
	if w.names > 1 && w.r.IntN(4) == 0 && !w.calm {
		offer.Functions = offer.Functions[:1]
	}
	w.nodes[id] = &machine{id: id, disk: disk, x: NewExecutor(offer), inView: true, store: map[Blob]uint64{}, jobs: map[AttemptID]*task{}}
	w.changeView()
}

func (w *world) changeView() {
	v := Members{View: ViewNumber{w.boot, uint64(len(w.views) + 1)}}
	for _, n := range w.sorted() {
		if n.inView {
			v.Nodes = append(v.Nodes, n.id)
		}
	}
	w.views = append(w.views, v)
	w.lookForCopies()
}

func (w *world) sorted() []*machine {
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b *machine) int { return strings.Compare(string(a.id), string(b.id)) })
}

// lookForCopies has the store find outputs that no member has any more.
func (w *world) lookForCopies() {
	for _, b := range slices.SortedFunc(maps.Keys(w.copies), Blob.compare) {
		has := false
		for _, n := range w.nodes {
			_, is := n.store[b]
			has = has || is && n.inView
		}
		if !has {
			delete(w.copies, b)
			w.gone = append(w.gone, b)
		}
	}
}

// kill ends a process.
func (w *world) kill(n *machine) {
	if n.dead {
		return
	}
	n.dead, n.jobs, n.saves = true, map[AttemptID]*task{}, nil
	if !n.inView {
		delete(w.nodes, n.id)
	}
}

// remove takes a node out of the view, whether it lives or not.
func (w *world) remove(n *machine) {
	n.inView = false
	if n.dead {
		delete(w.nodes, n.id)
	} else {
		w.met["node removed that lives"]++
		w.executor(n, Leased{Until: w.now + 1})
	}
	w.changeView()
}

func (w *world) executor(n *machine, ev ExecutorEvent) {
	if n.dead {
		return
	}
	trace("%v %s <- %T %+v", w.now, n.id, ev, ev)
	for _, e := range n.x.Step(w.now, ev) {
		trace("    %T %+v", e, e)
		switch e := e.(type) {
		case RunAttempt:
			if n.jobs[e.Order.ID] != nil {
				w.fail("%s begins %v twice", n.id, e.Order.ID)
			}
			n.jobs[e.Order.ID] = &task{o: e.Order}
		case CancelAttempt:
			if j := n.jobs[e.ID]; j != nil {
				j.ends = true
			}
		case ToController:
			w.send(n.id, e.To, e.Message)
		case SaveBlob:
			n.saves = append(n.saves, e)
		case Free:
			for _, r := range e.Runs {
				for b := range n.store {
					if b.Run == r.Run {
						delete(n.store, b)
						delete(w.copies, b)
					}
				}
				for b := range w.disks[n.disk] {
					if b.Run == r.Run && r.Results {
						delete(w.disks[n.disk], b)
					}
				}
			}
		case EndProcess:
			w.met["process ends itself"]++
			w.kill(n)
			return
		}
	}
}

// --- network

func (w *world) send(from, to phalanx.NodeID, m Message) {
	times := 1
	if !w.calm {
		times = []int{0, 1, 1, 1, 1, 1, 1, 1, 2, 2}[w.r.IntN(10)]
	}
	for range times {
		delay := time.Duration(w.r.IntN(40)) * time.Millisecond
		if w.r.IntN(15) == 0 && !w.calm {
			delay *= 40
		}
		w.net = append(w.net, packet{w.now + delay, from, to, m})
	}
}

// deliver brings one message whose time has come.
func (w *world) deliver() bool {
	for i, p := range w.net {
		if n := w.nodes[p.to]; p.at > w.now || n != nil && n.hangs > w.now {
			continue
		}
		w.net = slices.Delete(w.net, i, i+1)
		if n := w.nodes[p.to]; n != nil {
			w.executor(n, Heard{p.from, p.m})
			return true
		}
		for _, t := range w.tenures {
			if t.name == p.to {
				w.control(t, Heard{p.from, p.m})
			}
		}
		return true
	}
	return false
}

// --- ledger and controllers

// newTenure begins a controller. Of what the one before has proposed some is durable, in order.
func (w *world) newTenure() {
	if len(w.tenures) > 0 {
		old := w.tenures[len(w.tenures)-1]
		for range w.r.IntN(len(old.queue) + 1) {
			w.apply(old.queue[0])
			old.told = append(old.told, old.queue[0].Number)
			old.queue = old.queue[1:]
		}
		if w.r.IntN(2) == 0 {
			w.tenures = nil // its host has died
		}
	}
	w.epoch++
	w.met["tenure"]++
	t := &tenure{name: phalanx.NodeID(fmt.Sprintf("controller%d", w.epoch)), view: max(0, len(w.views)-1-w.r.IntN(3))}
	t.c = NewController(ControllerConfig{Ledger: 9, Epoch: w.epoch, Run: RunConfig{Retries: w.rough.retries, Losses: w.rough.losses}}, w.now)
	w.tenures = append(w.tenures, t)
	var rows []Row
	active := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		kind, rest, _ := strings.Cut(k, "/")
		uid, part, _ := strings.Cut(rest, "/")
		switch kind {
		case "active":
			active[rest] = true
		case "run":
			if !active[uid] || strings.HasPrefix(part, "out") || strings.HasPrefix(part, "part") || part == "result" {
				continue
			}
		case "clock", "executor", "view":
		default:
			continue
		}
		rows = append(rows, Row{Key: k, Value: w.rows[k]})
	}
	t.loaded = true
	half := w.r.IntN(len(rows) + 1)
	w.control(t, Scanned{Rows: rows[:half]})
	w.control(t, Scanned{Rows: rows[half:], Last: true})
	w.control(t, w.views[t.view])
}

func (w *world) present() *tenure { return w.tenures[len(w.tenures)-1] }

func (w *world) control(t *tenure, ev ControlEvent) {
	trace("%v %s <- %T %+v", w.now, t.name, ev, ev)
	for _, e := range t.c.Step(w.now, ev) {
		trace("    %T %+v", e, e)
		switch e := e.(type) {
		case Write:
			t.queue = append(t.queue, e)
			for _, r := range e.Rows {
				if v, is := r.Value.(Started); is {
					w.outside[v.Run] = &outside{id: v.ID, g: v.Work.Graph, s: shapeOf(v.Work.Graph), journal: map[int][]effect{}, answers: map[int]effect{}, fences: map[int]Attempt{}}
				}
			}
		case Read:
			t.later = append(t.later, Found{Number: e.Number, Rows: w.find(e)})
		case Confirm:
			if t == w.present() {
				t.later = append(t.later, Confirmed(e))
			}
		case Send:
			w.send(t.name, e.To, w.filled(e.Message))
		case Answer:
			w.answered(t, e)
		case Publish:
			name := fmt.Sprintf("%T", e.News)
			w.met[strings.TrimPrefix(name, "workflow.")]++
		}
	}
}

func (w *world) find(e Read) (rows []Row) {
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		if (k == e.Key || e.End != "" && k >= e.Key && k < e.End) && (e.Limit == 0 || len(rows) < e.Limit) {
			if !strings.Contains(k, "/out/") && !strings.Contains(k, "/part/") {
				rows = append(rows, Row{Key: k, Value: w.rows[k]})
			}
		}
	}
	return rows
}

// filled adds the bytes of outputs that are in the ledger.
func (w *world) filled(m Message) Message {
	fill := func(l *Located) {
		if l.Row != "" {
			b, is := w.rows[l.Row].(OutputBytes)
			if !is {
				w.fail("there is no row %s", l.Row)
			}
			l.Output.Bytes = b.Bytes
		}
	}
	if o, is := m.(Order); is {
		o.Inputs = slices.Clone(o.Inputs)
		for i := range o.Inputs {
			fill(&o.Inputs[i])
		}
		if o.Output != nil {
			l := *o.Output
			fill(&l)
			o.Output = &l
		}
		return o
	}
	return m
}

func (w *world) apply(wr Write) {
	w.applied++
	if len(wr.Rows) == 0 {
		w.fail("an empty write")
	}
	for _, r := range wr.Rows {
		switch v := r.Value.(type) {
		case nil:
			for k := range w.rows {
				if k == r.Key || r.End != "" && k >= r.Key && k < r.End {
					delete(w.rows, k)
				}
			}
			continue
		case Started:
			w.outside[v.Run].durable = true
		case Batch:
			var u UID
			if _, err := fmt.Sscanf(r.Key, "run/%x.%x.%x/", &u.Ledger, &u.Epoch, &u.Index); err != nil {
				w.fail("%s: %v", r.Key, err)
			}
			b := w.partial[u]
			if b.Epoch != v.Epoch {
				b = Batch{Epoch: v.Epoch}
			}
			b.Records = append(b.Records, v.Records...)
			if w.partial[u] = b; v.More {
				break
			}
			for _, rec := range b.Records {
				if rec, is := rec.(Begun); is {
					w.begun[attemptOf{u, rec.Task, rec.Gen, rec.Attempt}] = true
				}
			}
			delete(w.partial, u)
		}
		if _, is := w.rows[r.Key]; is && strings.Contains(r.Key, "/log/") {
			w.fail("%s is written twice", r.Key)
		}
		w.rows[r.Key] = r.Value
	}
}

// records returns the durable records of a run.
func (w *world) records(u UID) (all []Record) {
	var part []Record
	epoch := uint64(0)
	for _, r := range w.find(Read{Key: runKey(u, "log/"), End: runKey(u, "log0")}) {
		b := r.Value.(Batch)
		if b.Epoch != epoch {
			part, epoch = nil, b.Epoch
		}
		if part = append(part, b.Records...); !b.More {
			all, part = append(all, part...), nil
		}
	}
	return all
}

// --- attempts

// recorded returns an output whose bytes came with the order.
func (w *world) recorded(l Located) uint64 {
	if l.Output.Error != "" {
		return 7
	}
	if len(l.Output.Bytes) < 8 {
		w.fail("the bytes of %+v are not here", l)
	}
	return binary.BigEndian.Uint64(l.Output.Bytes)
}

// inputs returns the inputs of an attempt, and its own output for a compensation; wait: they may come yet;
// missing are those that nobody has.
func (w *world) inputs(n *machine, o Order) (all []uint64, own uint64, wait bool, missing []Blob) {
	get := func(l Located) uint64 {
		if l.Output.Recorded {
			return w.recorded(l)
		}
		b := Blob{Run: o.ID.Run, Task: l.Task, Gen: l.Gen, Made: l.Made}
		unknown := false
		for _, m := range w.sorted() {
			if hash, is := m.store[b]; is && m.inView && !m.dead {
				if w.r.IntN(3) == 0 && n != m {
					n.store[b] = hash
					w.executor(n, Stored{b})
				}
				return hash
			} else if is && m.inView {
				unknown = true
			}
		}
		for _, d := range l.Disks {
			if hash, is := w.disks[d][b]; is {
				return hash
			}
		}
		if unknown {
			wait = true
		} else {
			missing = append(missing, b)
		}
		return 0
	}
	for _, l := range o.Inputs {
		all = append(all, get(l))
	}
	if o.Output != nil {
		own = get(*o.Output)
	}
	return all, own, wait, missing
}

// finish has an attempt end, well or not, before its effect or after it.
func (w *world) finish(n *machine, id AttemptID) {
	j := n.jobs[id]
	inputs, own, wait, missing := w.inputs(n, j.o)
	if wait && !j.ends {
		return
	}
	delete(n.jobs, id)
	end := AttemptEnded{ID: id}
	k := 9
	if !w.calm {
		k = w.r.IntN(12)
	}
	switch {
	case j.ends && (wait || w.r.IntN(2) == 0):
		end.Failed = "canceled"
	case len(missing) > 0:
		end.Failed, end.Missing = "an input is gone", missing
		w.met["input missing"]++
	case k == 0 || k < 7 && j.o.Kind == TakeBack && w.rough.retries < 3:
		end.Failed = "an error before its effect"
	default:
		answer, fenced := w.act(n, j.o, inputs, own)
		switch {
		case fenced:
			end.Failed = "fenced"
		case k == 1:
			end.Failed, end.Final = "an error after its effect", j.o.Kind == Do && w.r.IntN(6) == 0
		default:
			binary.BigEndian.PutUint64(end.Output.Digest[:], answer)
			end.Output.Size = int64(8 + w.r.IntN(2)*largeInput)
			if w.r.IntN(3) == 0 {
				end.Output.Size = int64(8 + w.r.IntN(2)*1000)
				end.Output.Recorded, end.Output.Bytes = true, make([]byte, end.Output.Size)
				binary.BigEndian.PutUint64(end.Output.Bytes, answer)
			}
			if j.o.Kind == Do || j.o.Kind == Remake {
				b := Blob{Run: id.Run, Task: id.Task, Gen: j.o.Gen, Made: j.o.Made}
				n.store[b] = answer
				if n.inView {
					w.copies[b] = true
				}
			}
		}
	}
	w.executor(n, end)
}

// act has outsiders see what an attempt does. It returns its answer, or that they refuse it.
func (w *world) act(n *machine, o Order, inputs []uint64, own uint64) (answer uint64, fenced bool) {
	v := o.ID.Task
	s := w.outside[o.ID.Run]
	t := s.g.Tasks[v]
	if t.Effect != None && o.Kind == Do && !w.begun[attemptOf{o.ID.Run, v, o.Gen, o.ID.Attempt}] {
		w.fail("(9) task %d of %s has an effect before its record is durable", v, o.ID.Run)
	}
	answer = w.hash(o, t.Deterministic, inputs)
	switch {
	case o.Kind == TakeBack:
		w.met["undo"]++
		for _, m := range w.sorted() {
			for id, j := range m.jobs {
				if m.inView && id.Run == o.ID.Run && id.Task == v && j.o.Kind == Do && id.Attempt != o.ID.Attempt && !o.Fence.Less(id.Attempt) {
					w.fail("(10) task %d of %s is undone while %v of it goes on", v, o.ID.Run, id.Attempt)
				}
			}
		}
		if s.fences[v].Less(o.Fence) {
			s.fences[v] = o.Fence
		}
		s.journal[v] = slices.DeleteFunc(s.journal[v], func(e effect) bool {
			if o.Fence.Less(e.attempt) {
				return false
			}
			if !slices.Equal(e.inputs, inputs) {
				w.fail("(5) the undo of %d of %s gets %x, and the task had %x", v, o.ID.Run, inputs, e.inputs)
			}
			return true
		})
	case o.Kind == MakeUp:
		w.met["compensation"]++
		for _, e := range s.journal[v] {
			if !slices.Equal(e.inputs, inputs) || own != e.answer {
				w.fail("(5) the compensation of %d gets %x and %x, and the task had %x and %x", v, inputs, own, e.inputs, e.answer)
			}
		}
		s.journal[v] = nil
	case t.Effect == Idempotent:
		if old, ok := s.answers[v]; ok {
			if !slices.Equal(old.inputs, inputs) {
				w.fail("(6) %d of %s runs again with other inputs", v, o.ID.Run)
			}
			w.met["repeat under the same key"]++
			return old.answer, false
		}
		s.answers[v] = effect{o.ID.Attempt, inputs, answer}
		s.journal[v] = []effect{s.answers[v]}
	case t.Effect == Undo && o.Kind == Do:
		if !s.fences[v].Less(o.ID.Attempt) {
			w.met["straggler is fenced"]++
			return 0, true
		}
		s.journal[v] = append(s.journal[v], effect{o.ID.Attempt, inputs, answer})
	}
	return answer, false
}

func (w *world) hash(o Order, deterministic bool, inputs []uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, o.ID.Task, inputs)
	if !deterministic {
		fmt.Fprint(h, o.Made)
	}
	return h.Sum64()
}
