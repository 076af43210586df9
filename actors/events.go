package actors

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Event is something that recovery did or that an operator wants to know of. It
// is a plain struct, published by value on the actor system's event stream, and
// encodes as JSON; Decode is the inverse. String is a line for people.
type Event interface {
	fmt.Stringer
	Kind() string
}

// Events of members. View is the number of the view that says so.
type (
	// NodeJoined says that Node is a member now.
	NodeJoined struct {
		Node phalanx.NodeID `json:"node"`
		View uint64         `json:"view"`
	}

	// NodeLeft says that Node handed over and left.
	NodeLeft struct {
		Node phalanx.NodeID `json:"node"`
		View uint64         `json:"view"`
	}

	// NodeSuspected says that this node does not trust Node to answer any more.
	// It may be wrong, and changes no view.
	NodeSuspected struct {
		Node   phalanx.NodeID `json:"node"`
		Cause  string         `json:"cause"`
		Silent time.Duration  `json:"silent_ns"` // how long nothing was heard; 0 if the cause is another
	}

	// NodeTrusted takes a NodeSuspected back: Node answers.
	NodeTrusted struct {
		Node phalanx.NodeID `json:"node"`
	}

	// NodeFenced says that the others have removed this node, or that an actor which
	// it needs was stopped. This ends all its roles; it joins again by itself.
	NodeFenced struct {
		Node phalanx.NodeID `json:"node"`
		View uint64         `json:"view"`
	}

	// NodeRejoined says that this node is a member again, as a new incarnation.
	NodeRejoined struct {
		Node phalanx.NodeID `json:"node"`
		Was  phalanx.NodeID `json:"was"`
		Took time.Duration  `json:"took_ns"` // since it learned that it had been removed
	}

	// ClusterMet says that the node at a control address is in another cluster of the same
	// name: Cluster has begun the other, and Own this one. The other node is a seed of this
	// node, or this one is a seed of it. Each cluster answers for itself; one has to be ended.
	ClusterMet struct {
		At      string         `json:"at"`
		Cluster phalanx.NodeID `json:"cluster"`
		Own     phalanx.NodeID `json:"own"`
	}

	// MajorityLost says that this node hears of no majority of Voters any more, the Missing
	// ones do not answer. Until it is found nothing is decided, and calls that need the
	// directory wait or fail.
	MajorityLost struct {
		View    uint64           `json:"view"`
		Voters  []phalanx.NodeID `json:"voters"`  // not to be changed
		Missing []phalanx.NodeID `json:"missing"` // likewise; none if they answer, and do not agree
	}

	// MajorityFound takes a MajorityLost back: the voters decide again.
	MajorityFound struct {
		View uint64        `json:"view"`
		Took time.Duration `json:"took_ns"` // since it was lost
	}

	// ViewFormed says that By has formed the cluster anew, as an operator has told it, without
	// the Missing members. Copies that they alone had are lost, and LostShards shards of the
	// directory are rebuilt from the copies of objects that are left.
	ViewFormed struct {
		View       uint64           `json:"view"`
		By         phalanx.NodeID   `json:"by"`
		Missing    []phalanx.NodeID `json:"missing"` // not to be changed
		LostShards int              `json:"lost_shards"`
	}

	// NodeDown says that Node was removed without having left.
	NodeDown struct {
		Node  phalanx.NodeID `json:"node"`
		View  uint64         `json:"view"`
		Cause string         `json:"cause,omitempty"`
		Took  time.Duration  `json:"took_ns"` // since the first suspicion; 0 if there was none
	}
)

// Events of objects and their transfers.
type (
	// SenderLost says that this node's transfer of Object goes on without its
	// sender from Offset: it broke, hangs, or was slower than others.
	SenderLost struct {
		Object     phalanx.ObjectID   `json:"object"`
		Generation phalanx.Generation `json:"generation"`
		Sender     phalanx.NodeID     `json:"sender"`
		Offset     int64              `json:"offset"`
		Cause      string             `json:"cause"`
	}

	// TransferResumed says that the transfer goes on from Offset.
	TransferResumed struct {
		Object     phalanx.ObjectID   `json:"object"`
		Generation phalanx.Generation `json:"generation"`
		Sender     phalanx.NodeID     `json:"sender"` // the new one
		Offset     int64              `json:"offset"`
		Took       time.Duration      `json:"took_ns"` // since the sender was lost
	}

	// ObjectReplaced says that other bytes were put under the id of a lost object.
	ObjectReplaced struct {
		Object     phalanx.ObjectID   `json:"object"`
		Old        phalanx.Generation `json:"old"`
		Generation phalanx.Generation `json:"generation"`
	}

	// ObjectLost says that no complete copy of a final object is left.
	ObjectLost struct {
		Object     phalanx.ObjectID   `json:"object"`
		Generation phalanx.Generation `json:"generation"`
		Cause      string             `json:"cause"`
	}
)

// Events of reduces.
type (
	// ReduceStarted says that the first source was ready.
	ReduceStarted struct {
		Target  phalanx.ObjectID `json:"target"`
		Sources int              `json:"sources"` // to choose from
		Num     int              `json:"num"`     // to be combined
		Degree  int              `json:"degree"`  // of the tree
	}

	// ReduceCompleted says that Target is final.
	ReduceCompleted struct {
		Target     phalanx.ObjectID   `json:"target"`
		Generation phalanx.Generation `json:"generation"`
		Num        int                `json:"num"`
		Replaced   int                `json:"replaced"` // places on the way
		Took       time.Duration      `json:"took_ns"`
	}

	// PlaceLost says that a place of the tree is empty again.
	PlaceLost struct {
		Target phalanx.ObjectID `json:"target"`
		Place  int              `json:"place"`
		Node   phalanx.NodeID   `json:"node"`
		Source phalanx.ObjectID `json:"source"`
		Cause  string           `json:"cause"`
	}

	// PlaceReplaced says that the place has a source again.
	PlaceReplaced struct {
		Target phalanx.ObjectID `json:"target"`
		Place  int              `json:"place"`
		Node   phalanx.NodeID   `json:"node"`
		Source phalanx.ObjectID `json:"source"`
		Took   time.Duration    `json:"took_ns"` // since it was lost
	}

	// AncestorsCleared says which live places above lost ones make their results
	// again. They do from the moment of the loss: nothing takes time in between.
	AncestorsCleared struct {
		Target  phalanx.ObjectID `json:"target"`
		Cleared []int            `json:"cleared"` // positions, from the root down; not to be changed
		Cause   string           `json:"cause,omitempty"`
	}
)

// Events of shards of the directory.
type (
	// ShardMoved says that Shard has another owner.
	ShardMoved struct {
		Shard int            `json:"shard"`
		Epoch uint64         `json:"epoch"`
		From  phalanx.NodeID `json:"from,omitempty"`
		To    phalanx.NodeID `json:"to"`
		Cause string         `json:"cause,omitempty"`
	}

	// ShardLost says that the owner and the backup of Shard are both gone.
	ShardLost struct {
		Shard int            `json:"shard"`
		Epoch uint64         `json:"epoch"`
		Owner phalanx.NodeID `json:"owner"` // the node that rebuilds it
	}

	// ShardWarm says that all holders have reported their copies to the new owner.
	ShardWarm struct {
		Shard int           `json:"shard"`
		Epoch uint64        `json:"epoch"`
		Took  time.Duration `json:"took_ns"` // since that learned that it owns the shard
	}

	// MessageUnsendable says that this node has made a message that no other can get,
	// since it is too long, for example. The operation to which it belongs fails.
	MessageUnsendable struct {
		To      string `json:"to"`      // a node, or an actor
		Message string `json:"message"` // its type
		Cause   string `json:"cause"`
	}
)

// Events of partial barriers, told on the node that manages one. Entered is how many
// units are there, of at most Max.
type (
	// BarrierEntered says that Host, or its task Label, has reached Barrier.
	BarrierEntered struct {
		Barrier string `json:"barrier"`
		Host    string `json:"host"`
		Label   string `json:"label,omitempty"`
		Entered int    `json:"entered"`
		Max     int    `json:"max,omitempty"`
	}

	// BarrierFired says why Barrier has let its participants through.
	BarrierFired struct {
		Barrier string        `json:"barrier"`
		Cause   string        `json:"cause"`
		Entered int           `json:"entered"`
		Max     int           `json:"max"`
		Missing int           `json:"missing"`          // how many were not there
		Absent  []string      `json:"absent,omitempty"` // missing expected units, or else the members from which no participant has entered
		Lost    []string      `json:"lost,omitempty"`   // units that have entered and cannot be told, as their nodes are gone
		Took    time.Duration `json:"took_ns"`          // since the first entry
	}

	// BarrierLate says that a participant came after Barrier had fired.
	BarrierLate struct {
		Barrier string        `json:"barrier"`
		Host    string        `json:"host"`
		Label   string        `json:"label,omitempty"`
		After   time.Duration `json:"after_ns"` // the first entry
	}

	// BarrierExpired says that a semaphore was taken from a holder.
	BarrierExpired struct {
		Barrier string        `json:"barrier"`
		Host    string        `json:"host"`
		Label   string        `json:"label,omitempty"`
		Cause   string        `json:"cause"`
		Held    time.Duration `json:"held_ns"`
	}

	// BarrierKnee says that the arrivals have slowed down.
	BarrierKnee struct {
		Barrier string        `json:"barrier"`
		Entered int           `json:"entered"`
		Max     int           `json:"max"`
		Absent  []string      `json:"absent,omitempty"`
		After   time.Duration `json:"after_ns"` // the first entry
	}

	// BarrierRemoved says that a caller has removed Barrier, which Entered of Max had entered.
	BarrierRemoved struct {
		Barrier string `json:"barrier"`
		Entered int    `json:"entered"`
		Max     int    `json:"max,omitempty"`
	}

	// BarrierEmptied says that all participants inside Barrier, a double one, have left it
	// together, so long after its first entry.
	BarrierEmptied struct {
		Barrier string        `json:"barrier"`
		After   time.Duration `json:"after_ns"`
	}

	// BarrierTookOver says that this node manages Barrier now, after From.
	BarrierTookOver struct {
		Barrier string         `json:"barrier"`
		From    phalanx.NodeID `json:"from,omitempty"`
		Entered int            `json:"entered"`
		Took    time.Duration  `json:"took_ns"` // since this node learned that it is to
	}
)

// Events of a group (package group) that has members on this node.
type (
	// GroupFormed says that Group has begun; Of is the group whose Shrink or Grow has
	// made it.
	GroupFormed struct {
		Group   string        `json:"group"`
		Of      string        `json:"of,omitempty"`
		Members int           `json:"members"`
		Took    time.Duration `json:"took_ns"` // since it was asked for here
	}

	// GroupRevoked says that By has revoked Group, and that its calls under way here are
	// interrupted.
	GroupRevoked struct {
		Group  string        `json:"group"`
		By     string        `json:"by"`
		Reason string        `json:"reason,omitempty"`
		Took   time.Duration `json:"took_ns"` // since By did, by the clocks of both
	}

	// GroupMemberFailed says that Members of Group have failed, or have left it.
	GroupMemberFailed struct {
		Group   string   `json:"group"`
		Members []string `json:"members"`
		Left    bool     `json:"left,omitempty"`
	}
)

// Events of the process.
type (
	// ActorRestarted says that an actor panicked and goes on. It is made from
	// the library's supervisor events.
	ActorRestarted struct {
		Actor string        `json:"actor"`
		Cause string        `json:"cause"`
		Took  time.Duration `json:"took_ns"` // from the panic until it goes on
	}

	// ActorStopped says that an actor panicked and does not go on. It is made
	// from the library's supervisor events.
	ActorStopped struct {
		Actor string `json:"actor"`
		Cause string `json:"cause"`
	}

	// EventsLost stands, in the stream of a reader that was too slow, in the
	// place of N events.
	EventsLost struct {
		N int `json:"n"`
	}
)

// kinds has an event of each kind.
var kinds = func() map[string]Event {
	all := map[string]Event{}
	for _, e := range []Event{
		NodeJoined{}, NodeLeft{}, NodeSuspected{}, NodeTrusted{}, NodeDown{}, NodeFenced{}, NodeRejoined{}, ClusterMet{}, MajorityLost{}, MajorityFound{}, ViewFormed{},
		SenderLost{}, TransferResumed{}, ObjectLost{}, ObjectReplaced{},
		ReduceStarted{}, ReduceCompleted{}, PlaceLost{}, PlaceReplaced{}, AncestorsCleared{},
		ShardMoved{}, ShardLost{}, ShardWarm{}, MessageUnsendable{},
		BarrierEntered{}, BarrierFired{}, BarrierLate{}, BarrierExpired{}, BarrierKnee{}, BarrierRemoved{}, BarrierEmptied{}, BarrierTookOver{},
		GroupFormed{}, GroupRevoked{}, GroupMemberFailed{},
		ReplicaReplaced{}, ReplicaHalted{}, LedgerMet{},
		RunStarted{}, RunClosed{}, RunStuck{}, AttemptFailed{}, AttemptLost{}, RecoveryBegan{}, TaskUndone{}, ActorLost{}, ActorRestored{}, CheckpointFailed{}, ControllerTookOver{}, ControllerFailed{},
		ActorRestarted{}, ActorStopped{}, EventsLost{},
	} {
		all[e.Kind()] = e
	}
	return all
}()

// Decode returns the event that was encoded as JSON.
func Decode(kind string, data []byte) (Event, error) {
	of, ok := kinds[kind]
	if !ok {
		return nil, &phalanx.Error{Op: "events", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("there is no event %q", kind)}
	}
	e := reflect.New(reflect.TypeOf(of))
	if err := json.Unmarshal(data, e.Interface()); err != nil {
		return nil, &phalanx.Error{Op: "events", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%s: %w", kind, err)}
	}
	return e.Elem().Interface().(Event), nil
}
