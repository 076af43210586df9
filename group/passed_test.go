package group_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/group"
)

// Members leave as soon as they have passed a barrier. It has fired, and the others pass it too.
func TestMembersLeaveThatHavePassed(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	failed := 0
	for round := range 100 {
		groups := form(t, fmt.Sprint("g", round), nodes)
		_, errs := outcomes(groups, func(_ int, g *group.Group) (struct{}, error) {
			b, err := g.Barrier("end", barrier.Config{})
			if err == nil {
				_, err = b.Enter(ctx, barrier.Entry{})
			}
			return struct{}{}, errors.Join(err, g.Close())
		})
		for _, err := range errs {
			if err != nil {
				failed++
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d of 400 entries have failed", failed)
	}
}
