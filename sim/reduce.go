package sim

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

type reduces struct{ n *node }

func newReduces(n *node) *reduces                     { return &reduces{n} }
func (r *reduces) tick()                              {}
func (r *reduces) readiness(directory.Readiness)      {}
func (r *reduces) receive(from phalanx.NodeID, m any) { r.n.w.fail("unknown message %T", m) }
func (r *reduces) target(phalanx.ObjectID) *copied    { return nil }
func (r *reduces) objects(map[phalanx.ObjectID]bool)  {}
func (r *reduces) pushed(directory.Push)              {}
func (r *reduces) expects(phalanx.ObjectID) bool      { return false }
func (r *reduces) left() string                       { return "" }
func (w *world) someReduce(n *node) *call             { return nil }
func (w *world) deleteTargets()                       {}
func (w *world) reduceCanEnd(c *call) bool            { return true }
