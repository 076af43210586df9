package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Kind returns the name of the type.
func (NodeJoined) Kind() string        { return "NodeJoined" }
func (NodeLeft) Kind() string          { return "NodeLeft" }
func (NodeSuspected) Kind() string     { return "NodeSuspected" }
func (NodeTrusted) Kind() string       { return "NodeTrusted" }
func (NodeFenced) Kind() string        { return "NodeFenced" }
func (NodeRejoined) Kind() string      { return "NodeRejoined" }
func (ClusterMet) Kind() string        { return "ClusterMet" }
func (MajorityLost) Kind() string      { return "MajorityLost" }
func (MajorityFound) Kind() string     { return "MajorityFound" }
func (ViewFormed) Kind() string        { return "ViewFormed" }
func (NodeDown) Kind() string          { return "NodeDown" }
func (SenderLost) Kind() string        { return "SenderLost" }
func (TransferResumed) Kind() string   { return "TransferResumed" }
func (ObjectLost) Kind() string        { return "ObjectLost" }
func (ObjectReplaced) Kind() string    { return "ObjectReplaced" }
func (ReduceStarted) Kind() string     { return "ReduceStarted" }
func (ReduceCompleted) Kind() string   { return "ReduceCompleted" }
func (PlaceLost) Kind() string         { return "PlaceLost" }
func (PlaceReplaced) Kind() string     { return "PlaceReplaced" }
func (AncestorsCleared) Kind() string  { return "AncestorsCleared" }
func (ShardMoved) Kind() string        { return "ShardMoved" }
func (ShardLost) Kind() string         { return "ShardLost" }
func (ShardWarm) Kind() string         { return "ShardWarm" }
func (MessageUnsendable) Kind() string { return "MessageUnsendable" }
func (BarrierEntered) Kind() string    { return "BarrierEntered" }
func (BarrierFired) Kind() string      { return "BarrierFired" }
func (BarrierLate) Kind() string       { return "BarrierLate" }
func (BarrierExpired) Kind() string    { return "BarrierExpired" }
func (BarrierKnee) Kind() string       { return "BarrierKnee" }
func (BarrierRemoved) Kind() string    { return "BarrierRemoved" }
func (BarrierEmptied) Kind() string    { return "BarrierEmptied" }
func (BarrierTookOver) Kind() string   { return "BarrierTookOver" }
func (GroupFormed) Kind() string       { return "GroupFormed" }
func (GroupRevoked) Kind() string      { return "GroupRevoked" }
func (GroupMemberFailed) Kind() string { return "GroupMemberFailed" }
func (ActorRestarted) Kind() string    { return "ActorRestarted" }
func (ActorStopped) Kind() string      { return "ActorStopped" }
func (EventsLost) Kind() string        { return "EventsLost" }

func (e NodeJoined) String() string {
	return fmt.Sprintf("node %s joined (view %s)", e.Node, view.Numbered(e.View))
}
func (e NodeLeft) String() string {
	return fmt.Sprintf("node %s left (view %s)", e.Node, view.Numbered(e.View))
}

func (e NodeSuspected) String() string {
	if e.Silent > 0 {
		return fmt.Sprintf("node %s is suspected: %s for %v", e.Node, e.Cause, round(e.Silent))
	}
	return fmt.Sprintf("node %s is suspected: %s", e.Node, e.Cause)
}

func (e NodeTrusted) String() string { return fmt.Sprintf("node %s answers again", e.Node) }

func (e NodeFenced) String() string {
	return fmt.Sprintf("node %s is no member of the cluster any more (view %s)", e.Node, view.Numbered(e.View))
}

func (e ClusterMet) String() string {
	return fmt.Sprintf("the node at %s is in another cluster of this name, which %s has begun, not in that of %s: one of the two has to be ended", e.At, e.Cluster, e.Own)
}

func (e NodeRejoined) String() string {
	return fmt.Sprintf("node %s is back as %s%s", e.Was, e.Node, after(e.Took))
}

func (e MajorityLost) String() string {
	return fmt.Sprintf("the majority of the voters is lost (view %s): %s", view.Numbered(e.View), MissingVoters(e.Voters, e.Missing))
}

// MissingVoters says which of the voters do not answer.
func MissingVoters(voters, missing []phalanx.NodeID) string {
	if len(voters) == 0 {
		return "the view names none"
	}
	if len(missing) == 0 {
		return fmt.Sprintf("the %d of them do not agree, although they answer", len(voters))
	}
	names := make([]string, len(missing))
	for i, id := range missing {
		names[i] = string(id)
	}
	text := fmt.Sprintf("this node does not hear of %s, %d of %d", strings.Join(names, ", "), len(missing), len(voters))
	if 2*len(missing) < len(voters) {
		text += ", and the others do not agree"
	}
	return text
}

func (e MajorityFound) String() string {
	return fmt.Sprintf("the majority of the voters is found (view %s)%s", view.Numbered(e.View), after(e.Took))
}

func (e ViewFormed) String() string {
	names := make([]string, len(e.Missing))
	for i, id := range e.Missing {
		names[i] = string(id)
	}
	return fmt.Sprintf("node %s has formed the cluster anew (view %s) without %s; %d shards of the directory are lost", e.By, view.Numbered(e.View), strings.Join(names, ", "), e.LostShards)
}

func (e NodeDown) String() string {
	return fmt.Sprintf("node %s is down (view %s)%s%s", e.Node, view.Numbered(e.View), after(e.Took), because(e.Cause))
}

func (e SenderLost) String() string {
	return fmt.Sprintf("transfer of %q from node %s broke at byte %d%s", e.Object, e.Sender, e.Offset, because(e.Cause))
}

func (e TransferResumed) String() string {
	return fmt.Sprintf("transfer of %q goes on from node %s at byte %d%s", e.Object, e.Sender, e.Offset, after(e.Took))
}

func (e ObjectReplaced) String() string {
	return fmt.Sprintf("object %q was lost and is replaced, generation %v by %v", e.Object, e.Old, e.Generation)
}

func (e ObjectLost) String() string {
	return fmt.Sprintf("object %q is lost, generation %v has no complete copy%s", e.Object, e.Generation, because(e.Cause))
}

func (e ReduceStarted) String() string {
	return fmt.Sprintf("reduce %q started: %d of %d sources, degree %d", e.Target, e.Num, e.Sources, e.Degree)
}

func (e ReduceCompleted) String() string {
	return fmt.Sprintf("reduce %q completed from %d sources, %d places replaced%s", e.Target, e.Num, e.Replaced, after(e.Took))
}

func (e PlaceLost) String() string {
	return fmt.Sprintf("reduce %q lost place %d with %q on node %s%s", e.Target, e.Place, e.Source, e.Node, because(e.Cause))
}

func (e PlaceReplaced) String() string {
	return fmt.Sprintf("reduce %q has place %d again, with %q on node %s%s", e.Target, e.Place, e.Source, e.Node, after(e.Took))
}

func (e AncestorsCleared) String() string {
	return fmt.Sprintf("reduce %q cleared places %v, which make their results again%s", e.Target, e.Cleared, because(e.Cause))
}

func (e ShardMoved) String() string {
	if e.From == "" {
		return fmt.Sprintf("shard %d is owned by node %s (epoch %d)%s", e.Shard, e.To, e.Epoch, because(e.Cause))
	}
	return fmt.Sprintf("shard %d moved from node %s to node %s (epoch %d)%s", e.Shard, e.From, e.To, e.Epoch, because(e.Cause))
}

func (e ShardLost) String() string {
	return fmt.Sprintf("shard %d lost owner and backup, node %s rebuilds it (epoch %d)", e.Shard, e.Owner, e.Epoch)
}

func (e ShardWarm) String() string {
	return fmt.Sprintf("shard %d is warm (epoch %d)%s", e.Shard, e.Epoch, after(e.Took))
}

func (e MessageUnsendable) String() string {
	return fmt.Sprintf("a message %s for %s cannot be sent: %s", e.Message, e.To, e.Cause)
}

func (e ActorRestarted) String() string {
	return fmt.Sprintf("actor %s restarted%s%s", e.Actor, after(e.Took), because(e.Cause))
}
func (e ActorStopped) String() string {
	return fmt.Sprintf("actor %s stopped%s", e.Actor, because(e.Cause))
}
func (e EventsLost) String() string {
	return fmt.Sprintf("%d events were lost, the reader was too slow", e.N)
}

func because(cause string) string {
	if cause == "" {
		return ""
	}
	return ": " + cause
}

func after(took time.Duration) string {
	if took <= 0 {
		return ""
	}
	return fmt.Sprintf(" after %v", round(took))
}

// round leaves as many digits as a person reads.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// unit names a unit that a barrier counts, and its node.
func unit(host, label string) string {
	if label == "" {
		return host
	}
	return label + " of " + host
}

func (e BarrierEntered) String() string {
	if e.Max == 0 {
		return fmt.Sprintf("barrier %q: %s has entered, as number %d", e.Barrier, unit(e.Host, e.Label), e.Entered)
	}
	return fmt.Sprintf("barrier %q: %s has entered, %d of %d are there", e.Barrier, unit(e.Host, e.Label), e.Entered, e.Max)
}

func (e BarrierFired) String() string {
	s := fmt.Sprintf("barrier %q fires after %v with %d of %d: %s", e.Barrier, round(e.Took), e.Entered, e.Max, e.Cause)
	if len(e.Absent) > 0 {
		s += "; absent: " + strings.Join(e.Absent, ", ")
	}
	if len(e.Lost) > 0 {
		s += "; entered, but cannot be told, since their nodes are gone: " + strings.Join(e.Lost, ", ")
	}
	return s
}

func (e BarrierLate) String() string {
	return fmt.Sprintf("barrier %q: %s comes late, after %v", e.Barrier, unit(e.Host, e.Label), round(e.After))
}

func (e BarrierExpired) String() string {
	return fmt.Sprintf("barrier %q: taken from %s after %v: %s", e.Barrier, unit(e.Host, e.Label), round(e.Held), e.Cause)
}

// String returns one line.
func (e BarrierRemoved) String() string {
	return fmt.Sprintf("barrier %q was removed; %d had entered", e.Barrier, e.Entered)
}

// String returns one line.
func (e BarrierEmptied) String() string {
	return fmt.Sprintf("barrier %q: all have left, %s after the first entry", e.Barrier, e.After.Round(time.Millisecond))
}

func (e BarrierKnee) String() string {
	return fmt.Sprintf("barrier %q: a knee after %v, %d of %d are there", e.Barrier, round(e.After), e.Entered, e.Max)
}

func (e BarrierTookOver) String() string {
	if e.From == "" {
		return fmt.Sprintf("this node manages barrier %q now (%v), %d are there", e.Barrier, round(e.Took), e.Entered)
	}
	return fmt.Sprintf("this node manages barrier %q now, after %s (%v), %d are there", e.Barrier, e.From, round(e.Took), e.Entered)
}

func (e GroupFormed) String() string {
	of := ""
	if e.Of != "" {
		of = fmt.Sprintf(" of %q", e.Of)
	}
	return fmt.Sprintf("group %q%s has formed with %d members%s", e.Group, of, e.Members, after(e.Took))
}

func (e GroupRevoked) String() string {
	return fmt.Sprintf("group %q is revoked by %s%s%s", e.Group, e.By, after(e.Took), because(e.Reason))
}

func (e GroupMemberFailed) String() string {
	what := "failed"
	if e.Left {
		what = "left"
	}
	if n := len(e.Members); n > namesShown {
		return fmt.Sprintf("group %q: %s and %d more have %s", e.Group, strings.Join(e.Members[:namesShown], ", "), n-namesShown, what)
	}
	return fmt.Sprintf("group %q: %s has %s", e.Group, strings.Join(e.Members, ", "), what)
}

// namesShown bounds how many members an event names in its text.
const namesShown = 8
