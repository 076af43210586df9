package faults

import (
	"slices"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// The owner and the backup of a shard die at once (specification 2.5). What has a
// complete copy elsewhere can be read, small or large, as many copies are kept as
// before, and the same reduce has the same answer.
func TestOwnerAndBackupDieTogether(t *testing.T) {
	nodes := start(t, 6)
	voters := nodes[0].state(t).Voters
	votes := func(p *process) bool { return slices.Contains(voters, p.id(t)) }
	owner, backup := replicas(t, nodes, "x")
	for votes(owner) && votes(backup) { // a majority of the voters has to stay
		owner, backup = replicas(t, nodes, fresh("pair"))
	}
	in := func(name string) phalanx.ObjectID { // in a shard that is lost
		for {
			id := fresh(name)
			if o, b := replicas(t, nodes, id); o == owner && b == backup {
				return id
			}
		}
	}
	others := without(without(nodes, owner), backup)
	sizes := []int64{small, 1 << 20}
	var read, twice, again []order
	for _, size := range sizes {
		r := order{Do: "put", Object: in("read"), Size: size}
		must(t, tell(owner, r))
		r.Do = "get"
		must(t, tell(others[0], r))
		read = append(read, r)
		k := order{Do: "put", Object: in("kept"), Size: size, Copies: 2}
		must(t, tell(others[1], k))
		twice = append(twice, k)
		o := order{Do: "reduce", Object: in("sum"), Size: size, Num: 3}
		for i := range o.Num {
			o.Sources = append(o.Sources, fresh("source"))
			must(t, tell(others[i], order{Do: "put", Object: o.Sources[i], Size: size}))
		}
		must(t, tell(others[0], o))
		for _, p := range others[:2] { // the bytes of a small one are with the shard only
			must(t, tell(p, order{Do: "get", Object: o.Object, Size: size, Sources: o.Sources}))
		}
		again = append(again, o)
	}
	was := []phalanx.NodeID{owner.id(t), backup.id(t)}
	owner.signal(t, syscall.SIGKILL)
	backup.signal(t, syscall.SIGKILL)
	for _, r := range read {
		must(t, tell(others[3], r))
	}
	for _, k := range twice {
		pinned(t, others, k)
		k.Do = "get"
		must(t, tell(others[2], k))
	}
	for _, o := range again {
		l := must(t, tell(others[3], o))[0]
		if len(l.In) != o.Num || len(l.Out) > 0 {
			t.Errorf("the same reduce again is of %v, without %v", l.In, l.Out)
		}
		must(t, tell(others[3], order{Do: "get", Object: o.Object, Size: o.Size, Sources: o.Sources}))
	}
	nobodyElse(t, others, was...)
	settle(t, others)
	var ids []phalanx.ObjectID
	for i := range sizes {
		ids = append(append(ids, again[i].Sources...), read[i].Object, twice[i].Object, again[i].Object)
	}
	level(t, others, ids...)
}
