package store

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/node/pace"
)

// downlink hosts a pace.Downlink: transfers to this node end at any time. The zero value is ready.
type downlink struct {
	mu   sync.Mutex
	core pace.Downlink
}

func (d *downlink) received(r pace.Received, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.Received(pace.Default, r, now)
}

func (d *downlink) known(now time.Duration) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.Known(now)
}
