package reduce

import (
	"fmt"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// topic is the topic of a request about the target. The core repeats its requests; the Run has
// one of each topic under way, since the node repeats it by itself.
type topic struct {
	what asking
	gen  phalanx.Generation
}

type asking uint8

const (
	begin asking = iota
	restart
	finalise
	abort
)

func (r *Run) ask(t topic, body directory.Body) {
	if _, pending := r.asked[t]; pending {
		return
	}
	r.asked[t] = r.node.Num()
	r.emit(Ask{r.asked[t], body})
}

// topicOf returns the topic of the request with number num, if it is not answered yet.
func (r *Run) topicOf(num uint64) (topic, bool) {
	for t, n := range r.asked {
		if n == num {
			return t, true
		}
	}
	return topic{}, false
}

// forgetAll ends the unanswered requests.
func (r *Run) forgetAll() {
	begins := r.asked[topic{}]
	for _, num := range slices.Sorted(maps.Values(r.asked)) {
		r.emit(Forget{num})
		if num == begins { // it may be on its way, and bind a target that no Reduce would make
			r.emit(Withdraw{r.node.Num(), directory.Cancel{Num: num}})
		}
	}
	clear(r.asked)
}

func (r *Run) begin(e core.Begin) {
	if r.mem.number == 0 {
		r.mem.number = r.node.Num()
	}
	r.ask(topic{}, directory.Begin{Meta: phalanx.Meta{Size: phalanx.UnknownSize}, Maker: directory.ByReduce, Tag: r.cfg.Request.String(), Run: r.mem.number, After: e.After})
}

func (r *Run) finalise(e core.Finalise) {
	t := topic{finalise, e.Gen}
	if _, pending := r.asked[t]; pending { // a repeat by the core: the note of many sources is long
		return
	}
	note := core.Note(r.cfg.Sources, e.In)
	var body directory.Body = directory.Final{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Note: note, At: e.At, View: r.node.View()}
	if e.Inline {
		body = directory.PutInline{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Bytes: r.inline, Tag: r.cfg.Request.String(), Note: note}
	}
	r.mem.meta = &e.Meta
	r.ask(t, body)
}

// answered takes an answer about the target, and frees its topic for another request.
func (r *Run) answered(a Answered) {
	t, ok := r.topicOf(a.Num)
	if !ok || a.Result.Waiting {
		return
	}
	delete(r.asked, t)
	ev := r.answerOf(t, a)
	switch ev := ev.(type) {
	case core.Attached:
		if ev.Final { // another's result has a type and a shape too
			r.mem.meta = &a.Result.Meta
		}
	case core.Begun:
		r.mem.gen, r.begun, r.watchAt = ev.Gen, true, r.now+watchAfter
	case core.Restarted:
		r.mem.gen = ev.Gen
	}
	gaveUp := r.mem.gaveUp
	r.do(ev)
	if gaveUp && t.what == begin {
		r.do(core.Cancel{}) // the caller has its answer; now the core can release the target
	}
}

// answerOf returns an owner's answer as an event of the core.
func (r *Run) answerOf(t topic, a Answered) core.Event {
	res := a.Result
	refused := res.Kind != 0
	switch {
	case t.what == begin && refused:
		return core.Rejected{Kind: res.Kind, Text: res.Text, Gen: res.Gen, Deleted: res.Deleted}
	case t.what == begin:
		return r.beginning(a.From, res)
	case t.what == restart && refused:
		return core.RestartRefused{From: t.gen, Kind: res.Kind, Text: res.Text}
	case t.what == restart:
		return core.Restarted{From: t.gen, Gen: res.Gen}
	case t.what == finalise && refused:
		return core.FinaliseRefused{Gen: t.gen, Kind: res.Kind, Text: res.Text}
	case t.what == finalise:
		return core.Finalised{Gen: res.Gen}
	}
	return core.Aborted{}
}

// beginning returns the grant of a Begin as an event of the core.
func (r *Run) beginning(owner phalanx.NodeID, res directory.Result) core.Event {
	switch {
	case res.State == directory.Finished && len(res.Note) == 0: // the note was lost with the shard
		return core.Attached{Gen: res.Gen, Final: true, Size: res.Meta.Size, Digest: res.Digest}
	case res.State == directory.Finished:
		in, out, err := core.ReadNote(r.cfg.Sources, res.Note)
		if err != nil {
			return core.Rejected{Kind: phalanx.ErrInternal, Text: fmt.Sprintf("the answer that %s recorded cannot be read: %v", owner, err)}
		}
		return core.Attached{Gen: res.Gen, Final: true, In: in, Out: out, Size: res.Meta.Size, Digest: res.Digest}
	case res.Attached != "":
		return core.Attached{Gen: res.Gen, Coordinator: res.Attached}
	}
	return core.Begun{Gen: res.Gen}
}

// watchTarget has the owner tell of the target's deletion while the Reduce waits for sources.
func (r *Run) watchTarget() {
	if r.ended || !r.begun || r.now < r.watchAt {
		return
	}
	if r.watch != 0 { // the target was begun again
		r.emit(Forget{r.watch})
	}
	r.begun, r.watched = false, r.mem.gen
	r.watch = r.open(r.cfg.Target)
}

// open begins a watch and returns its number.
func (r *Run) open(id phalanx.ObjectID) uint64 {
	num := r.node.Num()
	r.emit(Watch{num, id})
	return num
}

// hear takes an owner's readiness of the target or of a source.
func (r *Run) hear(ev Told) {
	if ev.Num == r.watch {
		if ev.Readiness.Deleted(r.watched) {
			r.do(core.TargetGone{Kind: phalanx.ErrDeleted, Text: "the object was deleted"})
		}
		return
	}
	for _, e := range r.survey.told(ev.Num, ev.Readiness) {
		r.do(e)
	}
}

// unwatch ends all watches.
func (r *Run) unwatch() {
	for _, num := range r.survey.end() {
		r.emit(Forget{num})
	}
	if r.watch != 0 {
		r.emit(Forget{r.watch})
		r.watch = 0
	}
}
