package sim

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
)

// A process whose node was removed joins again with its complete copies, also if everything
// that has ended is started again meanwhile: it has not ended.
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

// A process that dies while its node was removed takes the copies with it.
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
