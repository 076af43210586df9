package remoting

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
)

const spawnerName = "spawner"

// spawner returns the actor that spawns for peers. The library's own makes the spawned
// actors its children, and panics when it is asked for an unknown kind, which
// stops all of them.
func (r *Remoting) spawner() *actor.Props {
	props := actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*remote.ActorPidRequest); ok {
			c.Respond(r.spawn(m))
		}
	})
	return actors.Restarting(r.cfg.Log).Guard(props)
}

func (r *Remoting) spawn(m *remote.ActorPidRequest) (reply *remote.ActorPidResponse) {
	code := func(c remote.ResponseStatusCode) *remote.ActorPidResponse {
		return &remote.ActorPidResponse{StatusCode: c.ToInt32()}
	}
	props, ok := r.cfg.Kinds[m.GetKind()]
	if !ok {
		return code(remote.ResponseStatusCodeUNAVAILABLE)
	}
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Log.WithField(logging.Cause, p).Errorf("a %s could not be made for a peer", m.GetKind())
			reply = code(remote.ResponseStatusCodeERROR)
		}
	}()
	name := m.GetName()
	if name == "" {
		name = m.GetKind() + r.sys.ProcessRegistry.NextId()
	}
	pid, err := r.sys.Root.SpawnNamed(props, name)
	switch {
	case errors.Is(err, actor.ErrNameExists):
		return code(remote.ResponseStatusCodePROCESSNAMEALREADYEXIST)
	case err != nil:
		panic(err)
	}
	r.cfg.OnSpawn(pid)
	return &remote.ActorPidResponse{Pid: pid, StatusCode: remote.ResponseStatusCodeOK.ToInt32()}
}

// Spawn makes an actor of a kind that is registered on the node at address. If
// name is empty, it gets one of its own. As with every request, a Spawn that fails
// may have been carried out.
func (r *Remoting) Spawn(ctx context.Context, address, kind, name string) (*actor.PID, error) {
	fail := func(k phalanx.Kind, err error) error {
		return &phalanx.Error{Op: "spawn", Kind: k, Err: fmt.Errorf("%s at %s: %w", kind, address, err)}
	}
	m, err := r.Request(ctx, r.PID(address, spawnerName), &remote.ActorPidRequest{Kind: kind, Name: name})
	if err != nil {
		var e *phalanx.Error
		if errors.As(err, &e) {
			return nil, fail(e.Kind, e.Err)
		}
		return nil, fail(phalanx.ErrInternal, err)
	}
	reply, ok := m.(*remote.ActorPidResponse)
	if !ok {
		return nil, fail(phalanx.ErrInternal, fmt.Errorf("the node answered with a %T", m))
	}
	switch remote.ResponseStatusCode(reply.GetStatusCode()) {
	case remote.ResponseStatusCodeOK:
		return r.PID(reply.GetPid().GetAddress(), reply.GetPid().GetId()), nil
	case remote.ResponseStatusCodeUNAVAILABLE:
		return nil, fail(phalanx.ErrInvalid, errors.New("the kind is not registered there"))
	case remote.ResponseStatusCodePROCESSNAMEALREADYEXIST:
		return nil, fail(phalanx.ErrExists, fmt.Errorf("there is an actor %q already", name))
	}
	return nil, fail(phalanx.ErrInternal, errors.New("the actor could not be spawned"))
}
