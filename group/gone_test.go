package group

import (
	"io"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// A group that is formed after its caller has gone has no member here: its name would be used for ever.
func TestAGroupWhoseCallerHasGone(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	n, err := cluster.Join(t.Context(), cluster.Config{Name: "n", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	roster, err := core.NewRoster([]Member{{Node: n.ID(), Label: "a"}, {Node: n.ID(), Label: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []bool{false, true} {
		members := make(chan int)
		n.System().Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); !ok {
				return
			}
			a := &asked{call: core.Call{ID: 1, Kind: core.CallForm, Group: "g"}, end: func(ending) {}}
			a.taken.Store(gone)
			s := &service{node: n, open: &open{core: core.NewCore(core.Config{}), calls: map[uint64]*asked{1: a}, groups: map[string]map[int]*Group{}}}
			s.finish(c, 1, ending{done: core.Done{ID: 1, Outcome: core.OK, Group: "g", Roster: roster}})
			members <- len(s.open.groups["g"])
		}))
		if got := <-members; (got == 0) != gone {
			t.Errorf("its caller has gone: %v; it has %d members", gone, got)
		}
	}
}
