package workflow

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode"
)

// counted is a store that counts how often it is asked for objects.
type counted struct {
	reducer
	asked int
	left  time.Time // when a node leaves; zero: it does not
}

func (c *counted) View() view.View {
	v := view.View{Number: 1}
	if !c.left.IsZero() && !time.Now().Before(c.left) {
		v.Number = 2
	}
	return v
}

func (c *counted) Stat(_ context.Context, id phalanx.ObjectID) (st storenode.ObjectStat, err error) {
	c.asked++
	st.State = directory.Finished
	if id == "0" && !c.left.IsZero() && time.Since(c.left) > 1500*time.Millisecond { // the directory takes its time
		st.State = directory.Lost
	}
	return st, nil
}

// A reduce of a thousand arrays that takes long asks for each of them seldom, and soon after the view has changed.
func TestAwaitLossAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		r := &runner{sums: c}
		var all []phalanx.ObjectID
		for i := range 1000 {
			all = append(all, phalanx.ObjectID(fmt.Sprint(i)))
		}
		ctx, stop := context.WithTimeout(t.Context(), reduceMost)
		defer stop()
		if lost := r.awaitLoss(ctx, all, 0); lost != nil || c.asked < 20*1000 || c.asked > 30*1000 {
			t.Errorf("in %v it has asked %d times, and %v are lost", reduceMost, c.asked, lost)
		}
		c.left = time.Now().Add(-time.Minute)
		spare, stop := context.WithTimeout(t.Context(), reduceMost)
		defer stop()
		if lost := r.awaitLoss(spare, all, 1); lost != nil {
			t.Errorf("%v are lost, and one is to spare", lost)
		}
		c.left = time.Now().Add(5 * time.Minute)
		lost := r.awaitLoss(t.Context(), all, 0)
		if took := time.Since(c.left); !slices.Equal(lost, all[:1]) || took > 4*time.Second {
			t.Errorf("%v after the view has changed %v are lost", took, lost)
		}
	})
}
