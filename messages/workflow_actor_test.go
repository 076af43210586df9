package messages

import (
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// The form of an actor is checked: it comes from outside.
func TestActorForm(t *testing.T) {
	u := workflow.UID{Ledger: 1, Epoch: 2, Index: 3}.String()
	good := flow.Actor{ActorAt: flow.ActorAt{Node: "n#1", ID: "wf/" + u + "/0/0/2.1/a", By: "wf/" + u + "/1/0/2.2/", Version: 2}, Kind: "worker@1", Name: "w", State: "wf/s"}
	form, err := MarshalActor(good)
	if got, err2 := UnmarshalActor(form); err != nil || err2 != nil || got != good {
		t.Errorf("%+v, %v, %v", got, err, err2)
	}
	for what, change := range map[string]func(*flow.Actor){
		"no node":       func(a *flow.Actor) { a.Node = "" },
		"no version":    func(a *flow.Actor) { a.Version = 0 },
		"no run":        func(a *flow.Actor) { a.ID = "x" },
		"two runs":      func(a *flow.Actor) { a.ID = "wf/other/0" },
		"a long ID":     func(a *flow.Actor) { a.ID += strings.Repeat("x", mostActorID) },
		"no kind":       func(a *flow.Actor) { a.Kind = "" },
		"a long name":   func(a *flow.Actor) { a.Name = strings.Repeat("x", mostActorName+1) },
		"a long object": func(a *flow.Actor) { a.State = phalanx.ObjectID(strings.Repeat("x", phalanx.MaxIDBytes+1)) },
	} {
		bad := good
		change(&bad)
		form, err := MarshalActor(bad)
		if _, err2 := UnmarshalActor(form); err != nil || err2 == nil {
			t.Errorf("%s: %v, %v", what, err, err2)
		}
	}
	if _, err := UnmarshalActor([]byte("{")); err == nil {
		t.Error("half a form is taken")
	}
}
