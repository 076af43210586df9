package detect

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Effect is something the host must do.
type Effect interface{ effect() }

type (
	// Beat asks for a heartbeat to Node, over a new connection if there is none.
	Beat struct{ Node phalanx.NodeID }

	// Rest says that Node is not watched any more: its connection for heartbeats
	// can be closed.
	Rest struct{ Node phalanx.NodeID }

	// Suspect says that this node does not trust Node any more. Nothing was heard
	// of it for Silence.
	Suspect struct {
		Node    phalanx.NodeID
		Cause   Cause
		Silence time.Duration
	}

	// Trust takes a Suspect back.
	Trust struct{ Node phalanx.NodeID }

	// Accuse tells the voter To this node's judgement of Node.
	Accuse struct {
		To    phalanx.NodeID
		Node  phalanx.NodeID
		Cause Cause
		Told  time.Duration // by this node's clock
	}

	// Remove asks to have Node removed from the view: Witnesses suspect it. Dead
	// says that its process is gone for sure.
	Remove struct {
		Node      phalanx.NodeID
		Dead      bool
		Witnesses []phalanx.NodeID
	}
)

func (Beat) effect()    {}
func (Rest) effect()    {}
func (Suspect) effect() {}
func (Trust) effect()   {}
func (Accuse) effect()  {}
func (Remove) effect()  {}

// String is the line of a script.
func (e Beat) String() string { return fmt.Sprintf("beat %s", e.Node) }

// String is the line of a script.
func (e Rest) String() string { return fmt.Sprintf("rest %s", e.Node) }

// String is the line of a script.
func (e Suspect) String() string {
	return fmt.Sprintf("suspect %s: %v, nothing heard for %v", e.Node, e.Cause, e.Silence)
}

// String is the line of a script.
func (e Trust) String() string { return fmt.Sprintf("trust %s", e.Node) }

// String is the line of a script.
func (e Accuse) String() string { return fmt.Sprintf("tell %s: %s is %v", e.To, e.Node, e.Cause) }

// String is the line of a script.
func (e Remove) String() string {
	how := "remove"
	if e.Dead {
		how = "remove the dead"
	}
	return fmt.Sprintf("%s %s, witnesses %v", how, e.Node, e.Witnesses)
}
