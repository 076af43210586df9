package remoting

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
)

// answerName begins the names of the processes that wait for an answer.
const answerName = "answer"

// unsendable makes known that message can never be sent. A request fails with err. In
// the place of an answer another message is returned, which goes to the requester:
// there the request fails with err, too, and not at its deadline.
func (r *Remoting) unsendable(target, sender *actor.PID, message any, err error) (instead letter, ok bool) {
	failure := &phalanx.Error{Op: "send", Kind: phalanx.ErrInvalid, Err: err}
	r.cfg.OnUnsendable(target.String(), message, failure)
	if sender != nil && sender.GetAddress() == r.Address() && strings.HasPrefix(sender.GetId(), answerName) {
		if ref, ok := r.sys.ProcessRegistry.GetLocal(sender.GetId()); ok {
			ref.SendUserMessage(sender, failure)
		}
		return letter{}, false
	}
	r.deadLetter(target, sender, message)
	switch name := target.GetId(); {
	case strings.HasPrefix(name, answerName):
		return letter{target: target, message: &messages.Unsendable{Error: messages.ErrorToProto(failure)}}, true
	case strings.HasPrefix(name, "future"):
		return letter{target: target, message: &actor.DeadLetterResponse{Target: sender}}, true
	}
	return letter{}, false
}

// reading is the Op of the error of a message that its receiver could not read.
const reading = "read"

// unreadable fails the request of a message from the node at address that cannot be read
// here, for example since its type comes from another build. The message is either the
// request or its answer.
func (r *Remoting) unreadable(address string, l letter, err error) {
	failure := &phalanx.Error{Op: reading, Kind: phalanx.ErrInvalid, Err: err}
	if strings.HasPrefix(l.target.GetId(), answerName) {
		if ref, ok := r.sys.ProcessRegistry.GetLocal(l.target.GetId()); ok {
			ref.SendUserMessage(l.target, failure)
		}
		return
	}
	if l.sender.GetAddress() == address && strings.HasPrefix(l.sender.GetId(), answerName) {
		r.deliver(address, letter{target: l.sender, message: &messages.Unsendable{Error: messages.ErrorToProto(failure)}})
	}
}
