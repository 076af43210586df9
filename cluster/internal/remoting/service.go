package remoting

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// service receives the peers' messages. It answers calls that it does not have with
// "unimplemented".
type service struct {
	remote.UnimplementedRemotingServer
	r *Remoting
}

var _ remote.RemotingServer = service{}

// Receive is called for each connection that a peer makes.
func (s service) Receive(stream remote.Remoting_ReceiveServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	address := first.GetConnectRequest().GetServerConnection().GetAddress()
	if address == "" {
		return status.Error(codes.InvalidArgument, "the first message is not a connect request with an address")
	}
	if p, ok := grpcpeer.FromContext(stream.Context()); ok {
		s.r.conns.name(p.Addr.String(), address)
	}
	err = s.serve(address, stream)
	s.r.broken(address, broke(err))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s service) serve(address string, stream remote.Remoting_ReceiveServer) error {
	if err := stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectResponse{
		ConnectResponse: &remote.ConnectResponse{MemberId: s.r.sys.ID},
	}}); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, e := range m.GetMessageBatch().GetEnvelopes() {
			if err := s.deliver(address, m.GetMessageBatch(), e); err != nil {
				s.r.cfg.Log.WithField(logging.Address, address).WithError(err).Warn("refused a control message")
			}
		}
	}
}

// deliver gives one message to its actor. It must not panic, which would end the
// process.
func (s service) deliver(address string, b *remote.MessageBatch, e *remote.MessageEnvelope) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.r.cfg.Log.WithFields(logrus.Fields{logging.Address: address, logging.Cause: p, "stack": string(debug.Stack())}).
				Error("a control message could not be handled")
			err = fmt.Errorf("the message cannot be handled: %v", p)
		}
	}()
	l, err := decode(b, e)
	if err != nil {
		s.r.unreadable(address, l, err)
		return err
	}
	switch m := l.message.(type) {
	case *actor.Terminated:
		s.r.terminated(address, l.target.GetId(), m)
	case actor.SystemMessage:
		ref, _ := s.r.sys.ProcessRegistry.GetLocal(l.target.GetId()) // else the dead letters
		ref.SendSystemMessage(l.target, m)
	default:
		// The target is looked up here, whatever address its sender knows: a
		// message is never sent on to a third node.
		ref, _ := s.r.sys.ProcessRegistry.GetLocal(l.target.GetId())
		if l.sender == nil && l.header == nil {
			ref.SendUserMessage(l.target, l.message)
		} else {
			ref.SendUserMessage(l.target, &actor.MessageEnvelope{Header: l.header, Message: l.message, Sender: l.sender})
		}
	}
	return nil
}
