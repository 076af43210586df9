package messages

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// actorForm is an actor as an output that holds it has it.
type actorForm struct {
	Node    phalanx.NodeID `json:"node"`
	ID      string         `json:"id"`
	By      string         `json:"by"`
	Version uint64         `json:"version"`
}

// mostActorID bounds ID and By, in bytes.
const mostActorID = 512

// MarshalActor returns the form of an actor in outputs.
func MarshalActor(a flow.ActorAt) ([]byte, error) { return json.Marshal(actorForm(a)) }

// UnmarshalActor is the inverse of MarshalActor.
func UnmarshalActor(form []byte) (flow.ActorAt, error) {
	var f actorForm
	if err := json.Unmarshal(form, &f); err != nil {
		return flow.ActorAt{}, broken("an actor: %v", err)
	}
	for _, s := range []string{f.ID, f.By} {
		if len(s) > mostActorID || !utf8.ValidString(s) || flow.RunOf(s) == "" {
			return flow.ActorAt{}, broken("%.100q is of no actor of a run", s)
		}
	}
	if f.Node == "" || f.Version == 0 || flow.RunOf(f.ID) != flow.RunOf(f.By) {
		return flow.ActorAt{}, broken("the actor %.100q of node %.100q at version %d is none", f.ID, f.Node, f.Version)
	}
	return flow.ActorAt(f), nil
}
