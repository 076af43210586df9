package remoting_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
)

func quiet() *logrus.Logger {
	log, _ := logtest.NewNullLogger()
	return log
}

func TestSpawnOnAnotherNode(t *testing.T) {
	shout := actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.StringValue); ok {
			c.Respond(text(strings.ToUpper(m.GetValue())))
		}
	})
	broken := actor.PropsFromProducer(func() actor.Actor { panic("cannot be made") })
	a := start(t, remoting.Config{})
	b := start(t, remoting.Config{Kinds: map[string]*actor.Props{"shout": shout, "broken": broken}})
	pid, err := a.Spawn(within(t), b.Address(), "shout", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Spawn(within(t), b.Address(), "shout", "loud"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address, kind, name string
		want                phalanx.Kind
		text                string
	}{
		{b.Address(), "whisper", "", phalanx.ErrInvalid, "whisper at " + b.Address() + ": the kind is not registered there"},
		{b.Address(), "shout", "loud", phalanx.ErrExists, `there is an actor "loud" already`},
		{b.Address(), "broken", "", phalanx.ErrInternal, "the actor could not be spawned"},
		{a.Address(), "shout", "", phalanx.ErrInvalid, "not registered"},
		{unused(t), "shout", "", phalanx.ErrUnavailable, "refused"},
	} {
		if _, err := a.Spawn(within(t), c.address, c.kind, c.name); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("spawn %s %q: %v, want %v with %q", c.kind, c.name, err, c.want, c.text)
		}
	}
	m, err := a.Request(within(t), pid, text("still here"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*wrapperspb.StringValue).GetValue(); got != "STILL HERE" {
		t.Errorf("the actor that was spawned answers %q", got)
	}
}
