package remoting_test

import (
	"net"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
)

// stranger returns a message of a type that only this function knows.
func stranger(t *testing.T) proto.Message {
	t.Helper()
	f, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("stranger.proto"), Package: proto.String("from.elsewhere"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Stranger")}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(f.Messages().Get(0))
}

func TestUnknownMessageIsRefusedAlone(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	for range 3 {
		a.sys.Root.Send(a.PID(b.Address(), "echo"), stranger(t))
		a.ask(t, b, "hello")
	}
	refused := 0
	for _, e := range b.log.AllEntries() {
		if err, ok := e.Data["error"].(error); ok && e.Data["address"] == a.Address() &&
			strings.Contains(err.Error(), `"from.elsewhere.Stranger" for actor echo is no known message`) {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d messages were logged as refused, want 3", refused)
	}
	for len(a.broken) > 0 {
		t.Errorf("the connection broke: %v", <-a.broken)
	}
}

// raw connects to n as a peer that keeps to no rule but gRPC's.
func raw(t *testing.T, n *node) (*grpc.ClientConn, remote.Remoting_ReceiveClient) {
	t.Helper()
	conn, err := grpc.NewClient(n.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	stream, err := remote.NewRemotingClient(conn).Receive(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return conn, stream
}

func TestHostileBatchesChangeNothing(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	known := string(text("").ProtoReflect().Descriptor().FullName())
	to := []*actor.PID{b.PID(b.Address(), "echo")}
	ended, err := proto.Marshal(&actor.Terminated{})
	if err != nil {
		t.Fatal(err)
	}
	for name, batch := range map[string]*remote.MessageBatch{
		"no tables":         {Envelopes: []*remote.MessageEnvelope{{}}},
		"no envelope":       {Envelopes: []*remote.MessageEnvelope{nil}, TypeNames: []string{known}, Targets: to},
		"type":              {Envelopes: []*remote.MessageEnvelope{{TypeId: 1}}, TypeNames: []string{known}, Targets: to},
		"negative type":     {Envelopes: []*remote.MessageEnvelope{{TypeId: -1}}, TypeNames: []string{known}, Targets: to},
		"target":            {Envelopes: []*remote.MessageEnvelope{{Target: 7}}, TypeNames: []string{known}, Targets: to},
		"sender":            {Envelopes: []*remote.MessageEnvelope{{Sender: 2}}, TypeNames: []string{known}, Targets: to, Senders: to},
		"negative sender":   {Envelopes: []*remote.MessageEnvelope{{Sender: -1}}, TypeNames: []string{known}, Targets: to, Senders: to},
		"serializer":        {Envelopes: []*remote.MessageEnvelope{{SerializerId: 9}}, TypeNames: []string{known}, Targets: to},
		"bytes":             {Envelopes: []*remote.MessageEnvelope{{MessageData: []byte{0xff}}}, TypeNames: []string{known}, Targets: to},
		"end of nobody":     {Envelopes: []*remote.MessageEnvelope{{MessageData: ended}}, TypeNames: []string{"actor.Terminated"}, Targets: to},
		"target of nowhere": {Envelopes: []*remote.MessageEnvelope{{}}, TypeNames: []string{known}, Targets: []*actor.PID{{}}},
	} {
		_, stream := raw(t, b)
		if err := stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: batch}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := stream.CloseSend(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m, err := stream.Recv(); err == nil {
			t.Errorf("%s: answered with %v", name, m)
		}
		a.ask(t, b, name)
	}
}

func TestOtherCallsAreNotServed(t *testing.T) {
	b := start(t, remoting.Config{})
	conn, _ := raw(t, b)
	if _, err := remote.NewRemotingClient(conn).ListProcesses(within(t), &remote.ListProcessesRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want unimplemented", err)
	}
}

func TestStrangersOnThePort(t *testing.T) {
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	for _, says := range []string{"", "GET / HTTP/1.1\r\n\r\n"} {
		c, err := net.Dial("tcp", b.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(says)); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	silent, err := net.Dial("tcp", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	a.ask(t, b, "hello")
	b.Stop() // does not wait for the silent one
}

// A peer that answers the connect request with something else must not make the
// library sleep, or Stop wait.
func TestPeerThatDoesNotAnswerAsANode(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	remote.RegisterRemotingServer(server, impostor{})
	go server.Serve(l)
	defer server.Stop()
	a := start(t, remoting.Config{})
	_, err = a.Request(within(t), a.PID(l.Addr().String(), "echo"), text("hello"))
	if err == nil || !strings.Contains(err.Error(), "does not answer as a node does") {
		t.Errorf("got %v, want that it is no node", err)
	}
}

type impostor struct {
	remote.UnimplementedRemotingServer
}

func (impostor) Receive(stream remote.Remoting_ReceiveServer) error {
	return stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_DisconnectRequest{DisconnectRequest: &remote.DisconnectRequest{}}})
}
