package keeper_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// The first member with a folder dies before it has created the ledger. It does so when it has come again with that folder.
func TestFirstMemberComesAgain(t *testing.T) {
	b := &bed{t: t}
	a := b.startOn("a", "h", nil)
	d, err := disk.Open(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := keeper.New(keeper.Settings{Store: d})
	if err != nil {
		t.Fatal(err)
	}
	idle := actor.PropsFromFunc(func(actor.Context) {})
	dies, err := cluster.Join(t.Context(), cluster.Config{Name: "b", Memory: 64 << 20, Seeds: []string{a.node.ControlAddr()},
		Services: []cluster.Service{{Name: "idle", Features: k.Service().Features, Actor: func(*cluster.Node) *actor.Props { return idle }}}})
	if err != nil {
		t.Fatal(err)
	}
	dies.Close()
	poll.Until(t, "a view without it", func() bool { return len(a.node.View().Members) == 1 })
	again := b.startOn("b", "h", d)
	poll.Until(t, "a ledger", func() bool { return again.leads() != nil })
	if got := k.Service().Features; len(got) != 1 {
		t.Errorf("a folder that belongs to a ledger brings the features %q", got)
	}
}
