package member

import "github.com/phalanx-go/phalanx"

// Bring is a member's step with a message that has come by way of another member, because the link
// from its sender to its receiver fails.
type Bring uint8

// The steps.
const (
	Drop Bring = iota
	Take       // the message is for this member
	Pass       // send it to its receiver, directly: so it goes in no circles
)

// OfDirectory decides about a message of the directory, which the member by has sent to self.
// reaches says that the receiver to is a member that self does not suspect; gone, that the sender
// from was removed.
func OfDirectory(self, from, by, to phalanx.NodeID, reaches, gone bool) Bring {
	switch {
	case to == self && !gone:
		return Take
	case to != self && from == by && reaches:
		return Pass
	}
	return Drop
}

// OfView decides about a message about the view. A node that was removed gets it too, and hears of its
// removal by that. passed says that a member has passed the message on.
func OfView(self, to phalanx.NodeID, passed bool) Bring {
	switch {
	case to == self && passed:
		return Take
	case to != self && !passed:
		return Pass
	}
	return Drop
}
