package reduce

import (
	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// answer answers the caller, unless it or an earlier instance has already.
func (r *Run) answer(a Answer) {
	if r.mem.answered {
		return
	}
	r.mem.answered = true
	if a.Err != nil {
		r.mem.gaveUp = true
		err := *a.Err
		err.Op = "reduce"
		if err.Object == "" {
			err.Object = r.cfg.Target
		}
		a.Err = &err
	}
	r.emit(a)
}

func (r *Run) result(e core.Result) {
	meta := phalanx.Meta{Size: e.Size}
	if r.mem.meta != nil {
		meta = *r.mem.meta
	}
	r.answer(Answer{Result: e, Meta: meta})
}

// fail has the caller wait a little, so that the target is released first; not after a
// deadline or a cancel.
func (r *Run) fail(err *phalanx.Error) {
	r.failed, r.patience = err, r.now+releaseFor
	if err.Kind == phalanx.ErrDeadline || err.Kind == phalanx.ErrCanceled {
		r.patience = r.now
	}
}

func (r *Run) cancel(err *phalanx.Error) {
	r.answer(Answer{Err: err})
	r.do(core.Cancel{})
}

// silent ends the Reduce for its caller if the target's owner says nothing: this node may be
// cut off. The Run goes on until it has released the target.
func (r *Run) silent(ev Silent) {
	if _, asked := r.topicOf(ev.Num); asked || ev.Num == r.watch {
		r.cancel(ev.Err)
	}
}

// combine has the host combine small sources. Their bytes came with their readiness, unless
// their owner has only locations: a rebuilt shard has no bytes of its own.
func (r *Run) combine(e core.CombineInline) {
	r.seq = e.Seq
	c := Combine{CombineInline: e, Attempt: r.cfg.Attempt, Bytes: make([][]byte, len(e.Inputs)), Until: r.cfg.Deadline}
	for i, in := range e.Inputs {
		if b, ok := r.survey.bytes(in.Source, in.Gen); ok {
			if c.Bytes[i] = b; b == nil { // the source is empty
				c.Bytes[i] = []byte{}
			}
		}
	}
	r.emit(c)
}

// combined takes the result of this attempt's last combination. Other attempts number their
// combinations anew.
func (r *Run) combined(ev Combined) {
	if ev.Attempt == r.cfg.Attempt && ev.Seq == r.seq {
		r.inline = ev.Bytes
		r.do(ev.Event)
	}
}
