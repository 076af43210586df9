package workflow

import (
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
	taken   map[signalOf]string // acknowledged signals
	outside map[UID]*outside
}

type config struct{ retries, losses int }

type attemptOf struct {
	run     UID
	task    int
	gen     uint32
	attempt Attempt
}

type signalOf struct {
	run  UID
	name string
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
		calling: map[Caller]asked{}, results: map[UID]string{}, taken: map[signalOf]string{}, outside: map[UID]*outside{}, rough: config{1 << 20, 1 << 20}}
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

func (w *world) trace(format string, args ...any) {
	if *oneWorld >= 0 {
		w.t.Logf(format, args...)
	}
}

// want has a client want a random run.
func (w *world) want(id string) {
	for {
		g := randomGraph(w.r, 1+w.r.IntN(6))
		for v := range g.Tasks {
			w.vary(w.r, &g.Tasks[v])
		}
		if w.r.IntN(2) == 0 {
			needSome(w.r, g)
		}
		if _, err := Check(g); err == nil {
			w.runs[id] = &client{id: id, g: g, work: workOf(g, w.r.IntN(3))}
			return
		}
	}
}

// vary gives a task what randomGraph does not.
func (w *world) vary(r *rand.Rand, t *Task) {
	switch k := r.IntN(12); {
	case k == 0:
		wait(r, t)
		if t.Sleep > 0 && r.IntN(6) == 0 {
			t.Sleep = 3 * time.Minute
		}
		return
	case k < 3 && t.Effect != Undo:
		t.Expands = true
		return
	}
	switch r.IntN(8) { // one number for each name: an Order may come after one that a greater number has let begin
	case 0:
		t.Limit = Limit{"l", 2}
	case 1:
		t.Limit = Limit{"m", 1}
	}
	t.Compensates = t.Effect != None && r.IntN(4) == 0
	t.Caught = t.Checkpoint != Off && r.IntN(6) == 0
}

// returned returns the workflow that an attempt returns instead of its output; nil: none.
func (w *world) returned(parent *Task, off bool, answer uint64) *Work {
	r := rand.New(rand.NewPCG(answer, 5))
	for range 20 {
		n := 1 + r.IntN(3)
		g := randomGraph(r, n)
		for v := range g.Tasks {
			t := &g.Tasks[v]
			w.vary(r, t)
			t.Expands = t.Expands && r.IntN(2) == 0
			if len(t.Reads) > 1 && !t.waits() && r.IntN(3) == 0 {
				needs(r, t)
			}
			if parent.Deterministic {
				t.Deterministic, t.Caught, t.Needs = true, false, 0
			}
			if off {
				t.Checkpoint, t.Effect, t.Compensates, t.Caught, t.Event, t.Sleep = Off, None, false, false, "", 0
			}
		}
		for v, is := range shapeOf(g).sink[:n-1] {
			if is {
				g.Tasks[n-1].After = append(g.Tasks[n-1].After, v)
			}
		}
		if _, err := CheckExpansion(parent, !off, g); err == nil {
			w.met["graph returned"]++
			return workOf(g, 0)
		}
	}
	return nil
}

// workOf returns a workflow of which some tasks run f@1 and others g@1.
func workOf(g *Graph, parts int) *Work {
	k := &Work{Graph: g, Of: g, Functions: []Function{{"f", 1}, {"g", 1}}}
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
			if !active[uid] || strings.HasPrefix(part, "out") || strings.HasPrefix(part, "part") || strings.HasPrefix(part, "result") {
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
	w.trace("%v %s <- %T %+v", w.now, t.name, ev, ev)
	for _, e := range t.c.Step(w.now, ev) {
		w.trace("    %T %+v", e, e)
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
		case Name:
			if v.State == Waiting && v.Why == "" {
				w.fail("(14) run %s waits without a reason", v.Run)
			}
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
