package workflow

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// desk hosts a controller. Writes become durable when the test says so; what is read and confirmed is answered at
// once.
type desk struct {
	t       *testing.T
	c       *Controller
	now     time.Duration
	rows    map[string]RowValue
	queue   []Write
	sent    []Send
	answers map[Caller]Answer
	news    []News
	caller  Caller
	view    uint64
	orders  []Send // Order messages, also in sent, but for repeats
	serials map[phalanx.NodeID]uint64
	reads   map[string]int  // how often a range was read, by its key
	late    func(Read) bool // what is read that is answered by found; nil: nothing
	unread  []ControlEvent  // that is
	sweeps  int             // that are wanted
}

func newDesk(t *testing.T, epoch uint64, rows map[string]RowValue, nodes ...phalanx.NodeID) *desk {
	d := &desk{t: t, rows: rows, answers: map[Caller]Answer{}, serials: map[phalanx.NodeID]uint64{}, reads: map[string]int{}}
	d.c = NewController(ControllerConfig{Ledger: 1, Epoch: epoch}, 0)
	var scan []Row
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		kind, rest, _ := strings.Cut(k, "/")
		uid, _, _ := strings.Cut(rest, "/")
		if _, active := rows["active/"+uid]; kind == "run" && !active || kind == "id" || kind == "until" || kind == "waiting" {
			continue
		}
		scan = append(scan, Row{Key: k, Value: rows[k]})
	}
	d.do(Scanned{Rows: scan, Last: true})
	d.see(nodes...)
	return d
}

// see brings the next view.
func (d *desk) see(nodes ...phalanx.NodeID) {
	d.view++
	d.do(Members{View: ViewNumber{1, d.view}, Nodes: nodes})
}

func (d *desk) do(ev ControlEvent) {
	d.t.Helper()
	todo := []ControlEvent{ev}
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		for _, e := range d.c.Step(d.now, ev) {
			switch e := e.(type) {
			case Write:
				d.queue = append(d.queue, e)
			case Read:
				var rows []Row
				if v, is := d.rows[e.Key]; is {
					rows = append(rows, Row{Key: e.Key, Value: v})
				}
				if e.End != "" {
					rows = nil
					for _, k := range slices.Sorted(maps.Keys(d.rows)) {
						if k >= e.Key && k < e.End {
							rows = append(rows, Row{Key: k, Value: d.rows[k]})
						}
					}
				}
				if e.Limit > 0 {
					rows = rows[:min(len(rows), e.Limit)]
				}
				d.reads[e.Key]++
				if d.late != nil && d.late(e) {
					d.unread = append(d.unread, Found{e.Number, rows})
				} else {
					todo = append(todo, Found{e.Number, rows})
				}
			case Confirm:
				todo = append(todo, Confirmed(e))
			case Send:
				d.sent = append(d.sent, e)
				if o, is := e.Message.(Order); is && o.Serial > d.serials[e.To] {
					d.serials[e.To] = o.Serial
					d.orders = append(d.orders, e)
				}
			case Answer:
				if _, is := d.answers[e.Caller]; is {
					d.t.Errorf("call %d is answered twice", e.Caller)
				}
				d.answers[e.Caller] = e
			case Publish:
				d.news = append(d.news, e.News)
			case Sweep:
				d.sweeps++
			}
		}
	}
}

// durable makes all Writes durable, also those that follow.
func (d *desk) durable() {
	d.t.Helper()
	d.durableTo(1 << 60)
}

// durableTo makes Writes durable up to a number.
func (d *desk) durableTo(number uint64) {
	d.t.Helper()
	for len(d.queue) > 0 && d.queue[0].Number <= number {
		w := d.queue[0]
		d.queue = d.queue[1:]
		for _, r := range w.Rows {
			if r.Value != nil {
				d.rows[r.Key] = r.Value
				continue
			}
			maps.DeleteFunc(d.rows, func(k string, _ RowValue) bool { return k == r.Key || r.End != "" && k >= r.Key && k < r.End })
		}
		d.do(Durable{w.Number})
	}
}

// found answers all that was read late.
func (d *desk) found() {
	d.t.Helper()
	all := d.unread
	d.unread = nil
	for _, f := range all {
		d.do(f)
	}
}

func (d *desk) after(pause time.Duration) {
	d.t.Helper()
	d.now += pause
	d.do(Tick{})
}

func (d *desk) call(c Call) Caller {
	d.t.Helper()
	d.caller++
	d.do(Called{Caller: d.caller, Call: c})
	return d.caller
}

// answer returns the answer to a call, which has to be there.
func (d *desk) answer(c Caller) Answer {
	d.t.Helper()
	a, is := d.answers[c]
	if !is {
		d.t.Fatalf("call %d has no answer", c)
	}
	return a
}

func (d *desk) waits(c Caller) {
	d.t.Helper()
	if a, is := d.answers[c]; is {
		d.t.Fatalf("call %d is answered too early: %+v", c, a)
	}
}

func (d *desk) refuses(c Caller, kind phalanx.Kind, part string) {
	d.t.Helper()
	if err := d.answer(c).Err; !errors.Is(err, kind) || !strings.Contains(err.Error(), part) {
		d.t.Errorf("call %d is answered %v, want %v with %q", c, err, kind, part)
	}
}

// tells has a member tell that it has nothing, or what is given.
func (d *desk) tells(n phalanx.NodeID, t Tell) {
	d.t.Helper()
	for _, s := range slices.Backward(d.sent) {
		if a, is := s.Message.(Ask); is && s.To == n {
			t.Epoch, t.Number, t.Parts = a.Epoch, a.Number, 1
			if t.Slots == 0 {
				t.Slots = 2
			}
			if t.Functions == nil {
				t.Functions = []Function{{"f", 1}}
			}
			d.do(Heard{n, t})
			return
		}
	}
	d.t.Fatalf("%s was not asked", n)
}

// order takes the oldest Order that was sent.
func (d *desk) order() (phalanx.NodeID, Order) {
	d.t.Helper()
	if len(d.orders) == 0 {
		d.t.Fatal("no order was sent")
	}
	s := d.orders[0]
	d.orders = d.orders[1:]
	o := s.Message.(Order)
	d.do(Heard{s.To, Taken{o.Epoch, o.ID}})
	return s.To, o
}

func (d *desk) reports(n phalanx.NodeID, o Order, out Output, failed string) {
	d.t.Helper()
	d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Kind: o.Kind, Output: out, Failed: failed}})
}

func count[M Message](d *desk) (n int) {
	for _, s := range d.sent {
		if _, is := s.Message.(M); is {
			n++
		}
	}
	return n
}

func published[N News](d *desk) (n int) {
	for _, e := range d.news {
		if _, is := e.(N); is {
			n++
		}
	}
	return n
}

// simple returns a workflow whose tasks all run f@1.
func simple(t testing.TB, graph string) *Work {
	g := parse(t, graph)
	k := workOf(g, 0)
	k.Functions, k.Calls = []Function{{"f", 1}}, make([]int32, len(g.Tasks))
	return k
}

var small = Output{Size: 8, Recorded: true, Bytes: []byte("12345678")}

// started returns a desk with a member that is ready, and a run that has started.
func started(t *testing.T, graph string) *desk {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{})
	d.durable()
	c := d.call(StartRun{ID: "r", Key: "me", Work: simple(t, graph)})
	d.durable()
	if a := d.answer(c); a.Err != nil || !a.Fresh {
		t.Fatalf("%+v", a)
	}
	return d
}
