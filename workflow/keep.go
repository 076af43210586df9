package workflow

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// keep has a constant with Refs go through a task: the objects are then in a checkpoint, as those of an output, so that the run goes on
// when the last node with one dies (workflow specification 1.3). The task is a source: once it is lost nobody can make it again.
func (p *program) keep(b []byte, refs []Ref) (in messages.GraphInput, err error) {
	refs = distinctRefs(refs)
	all := make([]flow.Ref, len(refs))
	for i, r := range refs {
		all[i] = flow.Ref{Object: r.id, Meta: phalanx.Meta{Size: r.size}, Digest: r.digest}
	}
	form, err := messages.MarshalBundle(b, all)
	if err != nil {
		return in, err
	}
	n, err := p.number(form)
	if err != nil {
		return in, err
	}
	v, known := p.keeps[n]
	if !known {
		call := messages.KeepCall(p.parent.deterministic, p.parent.checkpoint == core.Off)
		at, err := p.task(call, messages.GraphTask{Inputs: []messages.GraphInput{{Kind: messages.InputConstant, N: n}}})
		if err != nil {
			return in, err
		}
		v = uint32(at)
		p.keeps[n] = v
	}
	return messages.GraphInput{Kind: messages.InputTask, N: v}, nil
}

// keep runs an attempt of a task that passes its constant on. All that the constant names is there then, and is put again if an output of the
// run has a checkpoint of it.
func (r *runner) keep(ctx context.Context, a *attempt) (e ended) {
	life := newLife(a, r.store, nil)
	defer life.end()
	if a.kind != core.Do && a.kind != core.Remake || len(a.args) != 1 {
		return ended{err: invalid("run", fmt.Errorf("%s has nothing that could be taken back, or no constant", a.call)), final: true}
	}
	b, named, err := messages.UnmarshalBundle(a.args[0].given.bytes)
	if err != nil {
		return ended{err: err, final: true}
	}
	life.passed(named)
	for _, n := range named {
		e.refs = append(e.refs, Ref{n.Object, n.Meta.Size, n.Digest})
	}
	if r.bundle(ctx, b, e.refs, life, &e); e.err != nil {
		if ctx.Err() != nil {
			e.err = reason(ctx)
		}
		e.err = fmt.Errorf("what the run was given: %w", e.err)
	}
	life.tell(&e)
	return e
}
