package messages

import (
	"strings"
	"testing"

	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// The form of an actor is checked: it comes from outside.
func TestActorForm(t *testing.T) {
	u := workflow.UID{Ledger: 1, Epoch: 2, Index: 3}.String()
	good := flow.ActorAt{Node: "n1", ID: "wf/" + u + "/0/0/2.1/a", By: "wf/" + u + "/1/0/2.2/", Version: 2}
	form, err := MarshalActor(good)
	if got, err2 := UnmarshalActor(form); err != nil || err2 != nil || got != good {
		t.Errorf("%+v, %v, %v", got, err, err2)
	}
	for what, bad := range map[string]flow.ActorAt{
		"no node":     {ID: good.ID, By: good.By, Version: 1},
		"no version":  {Node: "n1", ID: good.ID, By: good.By},
		"no run":      {Node: "n1", ID: "x", By: good.By, Version: 1},
		"two runs":    {Node: "n1", ID: "wf/other/0", By: good.By, Version: 1},
		"a long name": {Node: "n1", ID: good.ID + strings.Repeat("x", mostActorID), By: good.By, Version: 1},
	} {
		form, err := MarshalActor(bad)
		if _, err2 := UnmarshalActor(form); err != nil || err2 == nil {
			t.Errorf("%s: %v, %v", what, err, err2)
		}
	}
	if _, err := UnmarshalActor([]byte("{")); err == nil {
		t.Error("half a form is taken")
	}
}
