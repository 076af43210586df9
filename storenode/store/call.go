package store

import (
	"context"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// call is one caller that waits for an object: a Get, an Open, or a fetch for
// the store's own sake. It is answered once.
type call struct {
	id     uint64
	op     string
	object phalanx.ObjectID
	wait   bool
	pin    phalanx.Generation // a copy of it is to stay pinned; zero: none
	reader bool               // answer with a Reader as soon as bytes can come

	ctx     context.Context // of the Reader; ends by itself at the deadline
	idle    time.Duration   // without a deadline: how long the Reader waits for its next byte
	timer   *time.Timer     // the deadline; set before any other goroutine has the call
	once    sync.Once
	over    chan struct{} // closed once it was answered
	deliver func(got any) // a *Got or an *Opened
}

// answered reports whether the caller has its answer, and waits no more.
func (c *call) answered() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// answer gives the caller a view, a reader or an error. Only the first answer counts: it
// returns true, and later ones release v and r.
func (c *call) answer(v *storenode.View, r *reader, err error) (delivered bool) {
	c.once.Do(func() {
		delivered = true
		if c.timer != nil {
			c.timer.Stop()
		}
		close(c.over)
		err = withOp(c.op, c.object, err)
		if c.reader {
			opened := &storenode.Opened{Object: c.object, Err: err}
			if r != nil {
				opened.Reader = storenode.NewReader(r)
			}
			c.deliver(opened)
			return
		}
		c.deliver(&storenode.Got{Object: c.object, View: v, Err: err})
	})
	if delivered {
		return true
	}
	if v != nil {
		v.Release()
	}
	if r != nil {
		_ = r.Close()
	}
	return false
}
