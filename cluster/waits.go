package cluster

import (
	"sync"
	"time"
)

const (
	waitsEvery     = 100 * time.Millisecond // Config.Waits is told of a change
	waitsLogged    = 2 * time.Second        // most joins have ended by then
	waitsLogEvery  = 30 * time.Second
	waitsLogNews   = 5 * time.Second // or so much after the last time, if it waits for something else
	waitsRedundant = "the node has joined, and waits until the cluster survives the death of one more node"
)

// tellWaits reports the reason for which Join waits, until its result is called.
func (n *Node) tellWaits() func() {
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		look := time.NewTicker(waitsEvery)
		defer look.Stop()
		told, logged, logAt := "", "", n.clock()+waitsLogged
		for {
			what := n.waits()
			if what != told && n.cfg.Waits != nil {
				n.cfg.Waits(what)
			}
			told = what
			if now := n.clock(); now >= logAt || logged != "" && what != logged && now >= logAt-waitsLogEvery+waitsLogNews {
				n.log.Warn("not ready yet: " + what)
				logged, logAt = what, now+waitsLogEvery
			}
			select {
			case <-done:
				return
			case <-look.C:
			}
		}
	})
	return func() { close(done); telling.Wait() }
}

// waits returns the reason for which Join waits.
func (n *Node) waits() string {
	l := n.life.Load()
	if l == nil || l.agreeing.Load() == nil {
		return "the node starts"
	}
	select {
	case <-l.joined:
		return waitsRedundant
	default:
		return l.agreeing.Load().Waits()
	}
}
