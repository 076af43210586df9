package cluster

import (
	"io"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// An owner's message for an earlier incarnation of a node is not for this one.
func TestMessagesForAnEarlierIncarnation(t *testing.T) {
	system, got := actor.NewActorSystem(), 0
	t.Cleanup(system.Shutdown)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case store.Pushed, store.LeaseAsked:
			got++
		}
	}, actor.WithDispatcher(actor.NewSynchronizedDispatcher(300))))
	l := &life{n: &Node{system: system}, id: "a#2", store: &store.Env{StorePID: pid}}
	for to, want := range map[phalanx.NodeID]int{"a#1": 0, "a#2": 2} {
		got = 0
		l.dispatch("owner#1", 0, directory.Push{To: to, Object: "x"})
		l.dispatch("owner#1", 0, directory.AskLease{To: to, Object: "x"})
		if got != want {
			t.Errorf("of 2 messages for %s, %s gets %d", to, l.id, got)
		}
	}
}

// A member that is about to leave keeps no copy for a Put.
func TestCopiesOnAMemberThatLeaves(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		l := &life{id: "a#1"}
		l.view.Store(&view.View{Members: []view.Member{{ID: "a#1"}, {ID: "b#1", Leaving: leaves}}})
		if err := l.short(&storenode.Put{Object: "x", Copies: 2}); (err != nil) != leaves {
			t.Errorf("the other member leaves: %v; the Put is refused with %v", leaves, err)
		}
	}
}

// A Leave that is under way hears that this node suspects another one, and that it trusts it again: it would
// count as gone, and the node end without it.
func TestALeaveHearsOfSuspicions(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	n, err := Join(t.Context(), Config{Name: "n", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	l := n.life.Load()
	lv := newLeaver(l, t.Context())
	n.mu.Lock()
	l.leaver = lv
	n.mu.Unlock()
	for what, happens := range map[string]func(){
		"suspects": func() { l.suspect(detect.Suspect{Node: "other#1", Cause: detect.Refused}) },
		"trusts":   func() { l.trust("other#1") },
	} {
		lv.take()
		happens()
		if !slices.ContainsFunc(lv.take(), func(ev any) bool { _, ok := ev.(leave.Lost); return ok }) {
			t.Errorf("the node %s another one, and the Leave does not hear what is lost", what)
		}
	}
}
