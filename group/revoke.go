package group

import (
	"context"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// maxReason bounds the text of a revoke, in bytes: it goes to every member.
const maxReason = 256

// Revoke interrupts everything in the group, at every member: present and later calls
// fail with phalanx.ErrRevoked and a RevokedError. One member calls it, and the others
// need not. It returns when this node's calls have been interrupted. The others hear of it as fast
// as messages travel, as long as fewer members have failed than each has neighbours.
// A revoked group stays revoked; to revoke it again does nothing.
func (g *Group) Revoke(ctx context.Context, reason string) error {
	if err := validReason(reason); err != nil {
		return failure("revoke", g.name, phalanx.ErrInvalid, err)
	}
	if err := g.ended(); err != nil {
		return named(err, "revoke")
	}
	ctx, cancel := within(ctx)
	defer cancel()
	g.node.System().Root.Send(g.pid, &revoke{g, reason})
	select {
	case <-g.ctx.Done():
		if err := g.ended(); err != nil && !g.IsRevoked() {
			return named(err, "revoke")
		}
		return nil
	case <-g.node.Done():
		return failure("revoke", g.name, phalanx.ErrClosed, errLeft)
	case <-ctx.Done():
		return given("revoke", g.name, ctx.Err(), nil)
	}
}

func validReason(reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("the reason has %d bytes, at most %d are allowed", len(reason), maxReason)
	}
	return nil
}

// Close has this member leave the group: the others learn it, and count it as failed.
// Its calls in the group fail with phalanx.ErrClosed. A Reduce, AllReduce or Gather
// of all sources that others have not finished ends with phalanx.ErrFailed, also if this member
// has its result: members pass a barrier before they leave.
func (g *Group) Close() error {
	g.leave(phalanx.ErrClosed, errClosed)
	g.node.System().Root.Send(g.pid, &closing{g})
	return nil
}

// revocation is the event of a revoke that is called now.
func revocation(rank int, reason string) core.Revocation {
	return core.Revocation{By: rank, Reason: reason, At: time.Now().UnixNano()}
}
