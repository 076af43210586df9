package remoting_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/internal/wire"
)

// A message that is too long fails the request that it belongs to at once, on either
// side, is made known, and does not hold up the messages behind it.
func TestWhatIsTooLongFailsItsRequestAtOnce(t *testing.T) {
	told := make(chan string, 10)
	note := func(to string, _ any, err error) { told <- to + ": " + err.Error() }
	a, b := start(t, remoting.Config{OnUnsendable: note}), start(t, remoting.Config{OnUnsendable: note})
	b.echo(t, "echo")
	long := strings.Repeat("x", wire.MaxControl)
	if _, err := b.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			c.Respond(text(long))
		}
	}), "talker"); err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string]string{"echo": long, "talker": "hello"} {
		_, err := a.Request(within(t), a.PID(b.Address(), name), text(message))
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), "at most 8388608") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if s := <-told; !strings.Contains(s, "StringValue has 8388613 bytes") {
			t.Errorf("%s: it was made known as %q", name, s)
		}
		a.ask(t, b, "and the next")
	}
	// The library's own futures learn of it, too.
	if _, err := a.sys.Root.RequestFuture(a.PID(b.Address(), "talker"), text("hello"), 20e9).Result(); !errors.Is(err, actor.ErrDeadLetter) {
		t.Errorf("a future ends with %v", err)
	}
	<-told
}

// ping is a message within a node.
type ping struct{ n int }

// A message that is no protobuf message fails its request at once, on either side, and is made
// known. It is not taken for an actor that is not there.
func TestWhatIsNoProtobufFailsItsRequestAtOnce(t *testing.T) {
	told := make(chan string, 10)
	note := func(to string, _ any, err error) { told <- to + ": " + err.Error() }
	a, b := start(t, remoting.Config{OnUnsendable: note}), start(t, remoting.Config{OnUnsendable: note})
	b.echo(t, "echo")
	if _, err := b.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			c.Respond(ping{1})
		}
	}), "talker"); err != nil {
		t.Fatal(err)
	}
	const says = "a remoting_test.ping cannot be sent to another node: messages between nodes are protobuf messages"
	for name, message := range map[string]any{"echo": ping{2}, "talker": text("hello")} {
		_, err := a.Request(within(t), a.PID(b.Address(), name), message)
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if s := <-told; !strings.Contains(s, says) {
			t.Errorf("%s: it was made known as %q", name, s)
		}
		a.ask(t, b, "and the next")
	}
	// The library's own futures learn of it, too.
	for name, message := range map[string]any{"echo": ping{3}, "talker": text("hello")} {
		if _, err := a.sys.Root.RequestFuture(a.PID(b.Address(), name), message, 20e9).Result(); !errors.Is(err, actor.ErrDeadLetter) {
			t.Errorf("%s: a future ends with %v", name, err)
		}
		<-told
	}
}

// A message of a type that the other node does not know, as one of another build, fails its
// request at once, on either side.
func TestAMessageThatIsNotKnownThereFailsItsRequestAtOnce(t *testing.T) {
	name, syntax, file := "Unknown", "proto3", "unknown.proto"
	described, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: &file, Syntax: &syntax, MessageType: []*descriptorpb.DescriptorProto{{Name: &name}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	unknown := dynamicpb.NewMessage(described.Messages().Get(0))
	a, b := start(t, remoting.Config{}), start(t, remoting.Config{})
	b.echo(t, "echo")
	if _, err := b.sys.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*wrapperspb.StringValue); ok {
			c.Respond(unknown)
		}
	}), "talker"); err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string]any{"echo": unknown, "talker": text("hello")} {
		_, err := a.Request(within(t), a.PID(b.Address(), name), message)
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), `"Unknown"`) || !strings.Contains(err.Error(), "is no known message") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
		a.ask(t, b, "and the next")
	}
}
