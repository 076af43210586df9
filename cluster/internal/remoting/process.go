package remoting

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"
)

// process stands for all actors at an address.
type process struct {
	r       *Remoting
	address string
}

var _ actor.Process = (*process)(nil)

// letter is a message on its way.
type letter struct {
	target, sender *actor.PID
	header         map[string]string
	message        proto.Message
}

// watch is a watcher here and the actor that it watches there, by their ids.
type watch struct{ watcher, watchee string }

func (p *process) SendUserMessage(pid *actor.PID, message any) {
	header, m, sender := actor.UnwrapEnvelope(message)
	known, ok := m.(proto.Message)
	if !ok {
		err := fmt.Errorf("a %T cannot be sent to another node: messages between nodes are protobuf messages", m)
		if instead, ok := p.r.unsendable(pid, sender, m, err); ok {
			p.r.deliver(p.address, instead)
		}
		return
	}
	l := letter{target: pid, sender: sender, message: known}
	if header != nil {
		l.header = header.ToMap()
	}
	p.r.deliver(p.address, l)
}

// SendSystemMessage also remembers the watches, since a node that died cannot say
// that its actors ended.
func (p *process) SendSystemMessage(pid *actor.PID, message any) {
	m, ok := message.(proto.Message)
	if !ok {
		return // messages between the parts of one actor
	}
	p.r.deliver(p.address, letter{target: pid, message: m})
}

func (p *process) Stop(pid *actor.PID) { p.SendSystemMessage(pid, &actor.Stop{}) }

// deliver queues l for the node at address.
func (r *Remoting) deliver(address string, l letter) {
	if !r.enqueue(address, l) {
		r.dead(l)
	}
}

func (r *Remoting) enqueue(address string, l letter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peers == nil {
		return false
	}
	p := r.peers[address]
	if p == nil {
		p = r.newPeer(address)
		r.peers[address] = p
		r.running.Go(p.run)
	}
	if !p.put(l) {
		return false
	}
	switch m := l.message.(type) {
	case *actor.Watch:
		p.watches[watch{m.GetWatcher().GetId(), l.target.GetId()}] = l.target
	case *actor.Unwatch:
		delete(p.watches, watch{m.GetWatcher().GetId(), l.target.GetId()})
	}
	return true
}

// dead gives l to the dead letters.
func (r *Remoting) dead(l letter) { r.deadLetter(l.target, l.sender, l.message) }

// deadLetter gives a message to the dead letters, which tell the sender of a request, or of
// a watch.
func (r *Remoting) deadLetter(target, sender *actor.PID, message any) {
	if _, system := message.(actor.SystemMessage); system {
		r.sys.DeadLetter.SendSystemMessage(target, message)
		return
	}
	r.sys.DeadLetter.SendUserMessage(target, &actor.MessageEnvelope{Message: message, Sender: sender})
}

// drop forgets p, whose connection ended with err: the next message makes
// another. Callers that wait for the node are told, first the ones that learn the reason.
func (r *Remoting) drop(p *peer, err error) {
	r.mu.Lock()
	if r.peers[p.address] == p {
		delete(r.peers, p.address)
	}
	left := p.close()
	r.mu.Unlock()
	r.waits.fail(p.address, err)
	for w, who := range p.watches { // no other goroutine has p any more
		r.tell(w.watcher, &actor.Terminated{Who: who, Why: actor.TerminatedReason_AddressTerminated})
	}
	for _, l := range left {
		if _, told := l.message.(*actor.Watch); !told {
			r.dead(l)
		}
	}
	r.broken(p.address, err)
}

func (r *Remoting) tell(watcher string, m *actor.Terminated) {
	if ref, ok := r.sys.ProcessRegistry.GetLocal(watcher); ok {
		ref.SendSystemMessage(r.sys.NewLocalPID(watcher), m)
	}
}

// terminated is told when an actor at address ended.
func (r *Remoting) terminated(address, watcher string, m *actor.Terminated) {
	r.mu.Lock()
	if p := r.peers[address]; p != nil {
		delete(p.watches, watch{watcher, m.GetWho().GetId()})
	}
	r.mu.Unlock()
	r.tell(watcher, m)
}
