package sim

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
)

// A process whose node was removed joins again with its complete copies. A restart of all ended
// processes meanwhile does not restart it: it has not ended.
func TestRemovedNodeKeepsItsCopies(t *testing.T) {
	w := newWorld(Config{Seed: 1})
	w.shape = shape{nodes: 3, shards: 1}
	w.begin()
	h := w.hosts[2]
	n := h.life
	n.table.Enter(&n.copyFor(copies.Copy{Object: "a"}).Copy)
	n.fenced()
	h.restart()
	w.until(w.now+time.Second, func() bool { return h.life != nil })
	if h.life == nil || h.life.of("a") == nil {
		t.Error("it goes on without its copy")
	}
}

// A process that dies after its node was removed loses the copies.
func TestDeadProcessKeepsNothing(t *testing.T) {
	w := newWorld(Config{Seed: 1})
	w.shape = shape{nodes: 3, shards: 1}
	w.begin()
	h := w.hosts[2]
	h.life.table.Enter(&h.life.copyFor(copies.Copy{Object: "a"}).Copy)
	h.life.fenced()
	h.crash(false)
	w.until(w.now+time.Second, func() bool { return h.life != nil })
	if h.life != nil {
		t.Fatal("a process that died goes on")
	}
	h.restart()
	if h.life == nil || h.life.of("a") != nil {
		t.Error("what was started again has the copy")
	}
}
