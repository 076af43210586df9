package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Tenure is the controller of one tenure of the ledger, from the first row that it reads to the end.
type Tenure struct {
	codec Codec
	core  *core.Controller
	now   time.Duration
	out   []TenureEffect
	over  bool

	// what was asked of the ledger
	number  uint64
	looks   map[uint64]func([]ledger.Row)
	visible visible
	unsure  unsure

	// until the controller has what is active
	active  []string // uids, of runs that are yet to be read
	loading bool
	view    *core.Members // the last one that was heard meanwhile

	// requests
	callers map[core.Caller]client
	asked   map[client]core.Caller
	caller  core.Caller
}

// client names a request.
type client struct {
	from   phalanx.NodeID
	number uint64
}

// loadAtOnce is how many runs are read at once as a tenure begins.
const loadAtOnce = 64

// NewTenure returns the Tenure that begins at now.
func NewTenure(cfg core.ControllerConfig, codec Codec, now time.Duration) *Tenure {
	cfg.Work = codec.Work
	return &Tenure{codec: codec, core: core.NewController(cfg, now), now: now, loading: true,
		looks: map[uint64]func([]ledger.Row){}, visible: visible{asked: map[uint64]uint64{}}, callers: map[core.Caller]client{}, asked: map[client]core.Caller{}}
}

// Begin returns the first effects.
func (t *Tenure) Begin() []TenureEffect {
	t.look([]Range{{Key: "active/", End: "active0"}, {Key: "clock"}, {Key: "executor/", End: "executor0"}, {Key: "view"}}, t.scanned)
	return t.take()
}

// Step takes an event and returns what the host must do, in that order.
func (t *Tenure) Step(now time.Duration, ev TenureEvent) []TenureEffect {
	t.now = max(t.now, now)
	if t.over {
		if ev, is := ev.(Asked); is {
			t.emit(Respond{To: ev.From, Reply: Reply{Number: ev.Request.Number, Again: true, Answer: core.Answer{Err: over()}}})
		}
		return t.take()
	}
	switch ev := ev.(type) {
	case Looked:
		then := t.looks[ev.Number]
		delete(t.looks, ev.Number)
		switch {
		case then == nil:
		case ev.Failed != "":
			t.unread(ev.Failed)
		default:
			then(ev.Rows)
		}
	case Appended:
		t.visible.appended = max(t.visible.appended, ev.Number)
		t.step(core.Durable{Number: ev.Number})
	case Refused:
		t.giveUp("the ledger takes no more: " + ev.Why)
	case Unread:
		t.unread(ev.Why)
	case Ended:
		t.end()
	case Busy:
		t.busy(ev.Number)
	case Assured:
		t.unsure.refuse = 0
		if own := t.visible.assured(ev.Number); !own {
			t.step(core.Confirmed{Number: ev.Number})
		}
		t.lookAgain()
	case Asked:
		t.ask(ev)
	case Unasked:
		t.unask(client{ev.From, ev.Number})
	case Heard:
		t.step(core.Heard{From: ev.From, Message: ev.Message})
	case Swept:
		t.step(core.Swept(ev))
	case View:
		t.viewed(ev.Members)
	case Tick:
		t.step(core.Tick{})
	}
	t.askAgain()
	return t.take()
}

// Due returns when the Tenure has to hear of the time; false: it need not.
func (t *Tenure) Due() (at time.Duration, ok bool) {
	if t.over {
		return 0, false
	}
	at, ok = t.core.Due()
	if len(t.unsure.again) > 0 && (!ok || t.unsure.at < at) {
		at, ok = t.unsure.at, true
	}
	return at, ok
}

func (t *Tenure) emit(e TenureEffect) { t.out = append(t.out, e) }

func (t *Tenure) take() []TenureEffect {
	out := t.out
	t.out = nil
	return out
}

func (t *Tenure) look(ranges []Range, then func([]ledger.Row)) {
	t.number++
	t.looks[t.number] = then
	t.visible.late = append(t.visible.late, lateLook{Look{Number: t.number, Ranges: ranges}, t.visible.appended})
	t.lookAgain()
}

// step gives the controller an event, and passes on what it wants.
func (t *Tenure) step(ev core.ControlEvent) {
	for _, e := range t.core.Step(t.now, ev) {
		if t.over {
			return
		}
		switch e := e.(type) {
		case core.Write:
			rows, err := encode(t.codec, e.Rows)
			if err != nil {
				t.giveUp("what the controller writes has no form: " + err.Error())
				return
			}
			t.emit(Append{Number: e.Number, Rows: rows})
		case core.Read:
			t.look(rangesFor(e), func(rows []ledger.Row) { t.found(e, rows) })
		case core.Confirm:
			t.visible.asks(e.Number)
			t.emit(AskSure(e))
		case core.Send:
			t.emit(Tell{To: e.To, Message: e.Message})
		case core.Answer:
			t.answer(e)
		case core.Publish:
			t.emit(Publish{News: e.News})
		case core.Sweep:
			t.emit(Sweep{})
		}
	}
}

// found answers a Read of the controller.
func (t *Tenure) found(r core.Read, raw []ledger.Row) {
	if ranges := rangesFor(r); len(ranges) > 1 {
		rows, err := decodeRun(t.codec, raw)
		if err != nil {
			t.unreadable(r.Key, err)
			rows = nil
		}
		t.step(core.Found{Number: r.Number, Rows: rows})
		return
	}
	rows := make([]core.Row, 0, len(raw))
	for _, row := range raw {
		v, err := t.codec.Decode(row.Value, core.MaxTasks)
		if err != nil {
			t.giveUp(fmt.Sprintf("row %s: %v", row.Key, err))
			return
		}
		rows = append(rows, core.Row{Key: row.Key, Value: v})
	}
	t.step(core.Found{Number: r.Number, Rows: rows})
}

// unreadable says that this version cannot go on with a run.
func (t *Tenure) unreadable(key string, err error) {
	t.emit(Publish{News: core.RunStuck{Why: fmt.Sprintf("this node cannot read %s: %v", strings.TrimSuffix(key, "/"), err)}})
}

// scanned takes the first rows: those that are of no run.
func (t *Tenure) scanned(raw []ledger.Row) {
	var rows []core.Row
	for _, r := range raw {
		if uid, is := strings.CutPrefix(r.Key, "active/"); is {
			t.active = append(t.active, uid)
			continue
		}
		v, err := t.codec.Decode(r.Value, 0)
		if err != nil {
			t.giveUp(fmt.Sprintf("row %s: %v", r.Key, err))
			return
		}
		rows = append(rows, core.Row{Key: r.Key, Value: v})
	}
	t.step(core.Scanned{Rows: rows})
	t.load()
}

// load reads the next runs that are active, until there is none left.
func (t *Tenure) load() {
	if len(t.active) == 0 {
		t.loaded()
		return
	}
	n := min(loadAtOnce, len(t.active))
	batch := t.active[:n]
	t.active = t.active[n:]
	var ranges []Range
	for _, uid := range batch {
		ranges = append(ranges, rangesOf(uid)...)
	}
	t.look(ranges, func(raw []ledger.Row) {
		t.loadedRuns(batch, raw)
		t.load()
	})
}

// loadedRuns passes on the rows of runs. One that this version cannot read stays as it is: its row active is not passed
// on.
func (t *Tenure) loadedRuns(batch []string, raw []ledger.Row) {
	for _, uid := range batch {
		prefix := "run/" + uid + "/"
		n, _ := slices.BinarySearchFunc(raw, prefix+"\xff", func(r ledger.Row, key string) int { return strings.Compare(r.Key, key) })
		rows, err := decodeRun(t.codec, raw[:n])
		raw = raw[n:]
		if err != nil {
			t.unreadable(prefix, err)
			continue
		}
		t.step(core.Scanned{Rows: append([]core.Row{{Key: "active/" + uid, Value: core.Active{}}}, rows...)})
	}
}

// loaded has the controller begin.
func (t *Tenure) loaded() {
	t.loading = false
	t.step(core.Scanned{Last: true})
	if t.view != nil {
		t.step(*t.view)
		t.view = nil
	}
}

// viewed takes a view. Nobody waits for the answers to a node that has left.
func (t *Tenure) viewed(m core.Members) {
	var gone []core.Caller
	for id, c := range t.callers {
		if !slices.Contains(m.Nodes, c.from) {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		t.unask(t.callers[id])
	}
	if t.loading {
		t.view = &m
		return
	}
	t.step(m)
}

// ask takes a request. A repeat of one that waits changes nothing.
func (t *Tenure) ask(ev Asked) {
	k := client{ev.From, ev.Request.Number}
	if _, waits := t.asked[k]; waits {
		return
	}
	t.caller++
	t.callers[t.caller], t.asked[k] = k, t.caller
	t.step(core.Called{Caller: t.caller, Call: ev.Request.Call, Patience: ev.Request.Patience, Full: ev.Full})
}

func (t *Tenure) unask(k client) {
	if id, waits := t.asked[k]; waits {
		delete(t.asked, k)
		delete(t.callers, id)
		t.step(core.Withdrawn{Caller: id})
	}
}

// answer answers a request, with the bytes of results that are in rows of their own.
func (t *Tenure) answer(a core.Answer) {
	k, waits := t.callers[a.Caller]
	if !waits {
		return
	}
	delete(t.callers, a.Caller)
	delete(t.asked, k)
	a.Caller = 0
	reply := Reply{Number: k.number, Answer: a}
	if errors.Is(a.Err, phalanx.ErrUnavailable) {
		reply.Busy = errors.Is(a.Err, core.ErrBusy)
		reply.Again = !reply.Busy
	}
	var ranges []Range
	if a.Result != nil {
		for _, o := range a.Result.Outputs {
			if o.Row != "" && o.Output.Bytes == nil {
				ranges = append(ranges, Range{Key: o.Row})
			}
		}
	}
	if a.Page != nil {
		t.page(k.from, reply)
		return
	}
	if ranges == nil {
		t.emit(Respond{To: k.from, Reply: reply})
		return
	}
	t.look(ranges, func(raw []ledger.Row) { t.fill(k.from, reply, raw) })
}

// fill puts the bytes of outputs into a reply.
func (t *Tenure) fill(to phalanx.NodeID, reply Reply, raw []ledger.Row) {
	result := *reply.Answer.Result
	result.Outputs = slices.Clone(result.Outputs)
	for i := range result.Outputs {
		o := &result.Outputs[i]
		for _, r := range raw {
			if r.Key != o.Row {
				continue
			}
			v, err := t.codec.Decode(r.Value, 0)
			b, is := v.(core.OutputBytes)
			if err != nil || !is {
				reply.Answer = core.Answer{Err: &phalanx.Error{Op: "workflow", Kind: phalanx.ErrCorrupt, Err: fmt.Errorf("row %s is no output: %v", r.Key, err)}}
				t.emit(Respond{To: to, Reply: reply})
				return
			}
			o.Output.Bytes, o.Row = b.Bytes, ""
		}
		if o.Row != "" && o.Output.Bytes == nil {
			reply.Answer = core.Answer{Err: &phalanx.Error{Op: "workflow", Kind: phalanx.ErrDeleted, Err: errors.New("the run was just forgotten")}}
			t.emit(Respond{To: to, Reply: reply})
			return
		}
	}
	reply.Answer.Result = &result
	t.emit(Respond{To: to, Reply: reply})
}

// giveUp ends the tenure, since this node cannot lead.
func (t *Tenure) giveUp(why string) {
	if !t.over {
		t.end()
		t.emit(GiveUp{Why: why})
	}
}

func (t *Tenure) unread(why string) { t.giveUp("the ledger cannot be read: " + why) }

// end answers what waits, and then does nothing more.
func (t *Tenure) end() {
	t.step(core.Refused{})
	t.over = true
	var left []core.Caller // their results were being read
	for id := range t.callers {
		left = append(left, id)
	}
	slices.Sort(left)
	for _, id := range left {
		k := t.callers[id]
		t.emit(Respond{To: k.from, Reply: Reply{Number: k.number, Again: true, Answer: core.Answer{Err: over()}}})
	}
	t.looks, t.callers, t.asked, t.active = nil, nil, nil, nil
	t.visible, t.unsure = visible{}, unsure{}
}

func over() error {
	return &phalanx.Error{Op: "workflow", Kind: phalanx.ErrUnavailable, Err: errors.New("the controller's tenure has ended: ask the next one")}
}
