package membership

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// A node of another cluster, or of another version of the messages, is refused at once,
// and hears why. One that asks the voters nevertheless is not let in.
func TestStrangersAreRefused(t *testing.T) {
	defer func(was view.Common) { common = was }(common)
	common = view.Common{Name: "mine", Wire: "1"}
	nodes := joined(t, 2)
	for why, is := range map[string]view.Common{
		`this is cluster "mine", and the node is of cluster "other"`:                         {Name: "other", Wire: "1"},
		`the nodes of this cluster speak version "1" to each other, and the node speaks "2"`: {Name: "mine", Wire: "2"},
	} {
		common = is
		stranger := start(t, "stranger", nodes[0].address(), nodes[1].address())
		err := stranger.Join(within(t))
		if !errors.Is(err, phalanx.ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Errorf("it ended with %v", err)
		}
		nodes[1].Propose(view.AddMember{Member: stranger.cfg.Self, Common: is})
	}
	common = view.Common{Name: "mine", Wire: "1"}
	c := start(t, "c", nodes[0].address())
	if err := c.Join(within(t)); err != nil { // the proposals before it were decided on
		t.Fatal(err)
	}
	agree(t, nodes[0], nodes[1], c)
	if v := c.View(); len(v.Members) != 3 {
		t.Errorf("the members are %v", v)
	}
}

// A stranger among several seeds is passed over: the others may let the node in later.
func TestARefusalOfOneSeed(t *testing.T) {
	defer func(was view.Common) { common = was }(common)
	common = view.Common{Name: "other"}
	other := joined(t, 1)[0]
	common = view.Common{Name: "mine"}
	late := start(t, "late")
	n := start(t, "n", other.address(), late.address())
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := n.Join(short); !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "other") {
		t.Errorf("it ended with %v", err)
	}
	if err := late.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, late, n)
}

// A node whose name a member has is refused as long as that one answers, also by the voters
// if it does not look. Once the member has died without a word, it is replaced.
func TestANameIsTakenWhileItsNodeAnswers(t *testing.T) {
	nodes := joined(t, 3)
	second := startOf(t, "n2", 2, nodes[0].address())
	if err := second.Join(within(t)); !errors.Is(err, phalanx.ErrRefused) || !strings.Contains(err.Error(), nodes[2].address()) {
		t.Errorf("it ended with %v", err)
	}
	nodes[1].Propose(view.AddMember{Member: second.cfg.Self})
	other := start(t, "other", nodes[0].address())
	if err := other.Join(within(t)); err != nil { // that proposal was decided on
		t.Fatal(err)
	}
	agree(t, nodes[0], nodes[1], nodes[2], other)
	if !nodes[0].View().Has("n2#1") {
		t.Fatalf("the node that lives was removed: %v", nodes[0].View())
	}
	nodes[2].Stop()
	third := startOf(t, "n2", 3, nodes[0].address())
	if err := third.Join(within(t)); err != nil {
		t.Fatal(err)
	}
	agree(t, nodes[0], nodes[1], other, third)
}
