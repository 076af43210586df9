package workflow

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// ObjectPrefix begins the ids of all objects that nodes put for runs.
const ObjectPrefix = "wf/"

const copyPrefix = ObjectPrefix + "copy/"

// CopyPrefix begins the ids of the objects of checkpoints that a node has copied.
func CopyPrefix(node phalanx.NodeID) string { return fmt.Sprintf("%s%s/", copyPrefix, node) }

// CopyID returns the id of one of them.
func CopyID(node phalanx.NodeID, number uint64) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprint(CopyPrefix(node), number))
}

// copierOf returns the node that has put the object of a checkpoint; false: the object is another one.
func copierOf(id phalanx.ObjectID) (phalanx.NodeID, bool) {
	rest, is := strings.CutPrefix(string(id), copyPrefix)
	at := strings.LastIndexByte(rest, '/')
	if !is || at < 0 {
		return "", false
	}
	return phalanx.NodeID(rest[:at]), true
}

// Adopt notes each of some objects whose origin has left the view, and each target of a reduce: nobody else may have noted them. Whether
// a run ends with one is not known: it stays until the run is forgotten. One that was noted before stays as it is. Adopt returns the
// runs of those that are new, and the copies of checkpoints whose node has left, which the caller deletes.
func (b *Belongings) Adopt(some []directory.ObjectStat, member func(phalanx.NodeID) bool) (runs []core.UID, dead []phalanx.ObjectID) {
	found := map[core.UID]bool{}
	for _, st := range some {
		if st.Maker != directory.ByReduce && member(st.Origin) {
			continue
		}
		if node, is := copierOf(st.Object); is {
			if !member(node) {
				dead = append(dead, st.Object)
			}
			continue
		}
		run := RunOf(string(st.Object))
		u, is := core.ParseUID(run)
		if !is {
			continue
		}
		if _, known := b.objects[run][st.Object]; known {
			continue
		}
		b.Object(run, st.Object, true)
		if !found[u] {
			found[u] = true
			runs = append(runs, u)
		}
	}
	return runs, dead
}
