package directory

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// List asks for a part of a shard's ids and calls done once, by the deadline.
func (c *Client) List(shard int, body core.List, deadline time.Duration, done func([]core.ObjectStat, error)) {
	num := c.Nums(1)
	var once sync.Once
	timer := time.AfterFunc(deadline, func() {
		c.Forget(num)
		once.Do(func() {
			done(nil, &phalanx.Error{Op: "list", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("directory shard %d did not answer for %v", shard, deadline)})
		})
	})
	c.RequestShard(shard, num, body, func(owner phalanx.NodeID, r core.Result) {
		timer.Stop()
		once.Do(func() {
			if r.Kind != 0 {
				done(nil, &phalanx.Error{Op: "list", Node: owner, Kind: r.Kind, Err: errors.New(r.Text)})
				return
			}
			done(r.List, nil)
		})
	})
	c.Impatient(num, func(err *phalanx.Error) {
		timer.Stop()
		c.Forget(num)
		err.Op = "list"
		once.Do(func() { done(nil, err) })
	})
}
