package actors

import "github.com/asynkron/protoactor-go/actor"

// Early is a mailbox for actors to which other nodes may write at any time. The library registers the name of an actor before it hands
// the mailbox to it: a message that comes in between would find a mailbox that does not know its actor. Here it waits for that.
func Early(of actor.MailboxProducer) actor.MailboxProducer {
	return func() actor.Mailbox { return &early{of(), make(chan struct{})} }
}

type early struct {
	actor.Mailbox
	ready chan struct{}
}

// RegisterHandlers implements actor.Mailbox.
func (m *early) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.Mailbox.RegisterHandlers(invoker, dispatcher)
	close(m.ready)
}

// PostUserMessage implements actor.Mailbox.
func (m *early) PostUserMessage(message any) {
	<-m.ready
	m.Mailbox.PostUserMessage(message)
}

// PostSystemMessage implements actor.Mailbox.
func (m *early) PostSystemMessage(message any) {
	<-m.ready
	m.Mailbox.PostSystemMessage(message)
}
