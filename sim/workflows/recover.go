package workflows

import (
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// stays is a machine whose folder is left of the ledger.
type stays struct {
	m     *machine
	state ledger.State
	found ledger.Found
}

// recovers has all disks of the ledger but one be lost while no machine has power, and the ledger go on from that one. It is the one that
// has most, and therefore all that was ever acknowledged: runs keep all their promises. Each checkpoint has to be on a disk that is not lost.
func (s *service) recovers() {
	if s.sacrificed || s.calm || s.anyTemp() {
		return
	}
	var all []stays
	for _, name := range slices.Sorted(maps.Keys(s.machines)) {
		m := s.machines[name]
		if m.folder == nil {
			continue
		}
		d, err := m.folder.Open(memory.Config{Later: func(f func()) { f() }})
		if err != nil {
			return // a machine has power: a node has joined
		}
		state, err := d.State()
		if err != nil {
			s.Fail("the folder of %s: %v", name, err)
		}
		m.disk = d.Identity().Disk
		m.folder.Crash(func(n int) int { return n })
		found, err := ledger.Find(state)
		if err != nil {
			s.Fail("the folder of %s: %v", name, err)
		}
		all = append(all, stays{m, state, found})
	}
	var has []stays
	var found []ledger.Found
	for _, one := range all {
		if one.found.Index > 0 {
			has, found = append(has, one), append(found, one.found)
		}
	}
	best, _, _ := ledger.Survey(found) // most of the disks are there still
	if best < 0 {
		return
	}
	if _, _, err := ledger.Survey(found[best : best+1]); err != nil {
		return // it is the only one
	}
	left := has[best]
	lost := slices.Delete(slices.Clone(has), best, best+1)
	for _, on := range s.blobs {
		if len(on) > 0 && !slices.ContainsFunc(on, func(disk uint64) bool {
			return !slices.ContainsFunc(lost, func(o stays) bool { return o.m.disk == disk })
		}) {
			return // it would be lost
		}
	}
	write, err := ledger.Recover(left.state, s.Now())
	if err != nil {
		s.Fail("recover from %s: %v", left.m.name, err)
	}
	d, err := left.m.folder.Open(memory.Config{Later: func(f func()) { f() }})
	if err != nil {
		s.Fail("the folder of %s: %v", left.m.name, err)
	}
	d.Apply(write, func(err error) {
		if err != nil {
			s.Fail("recover %s: %v", left.m.name, err)
		}
	})
	left.m.folder.Crash(func(n int) int { return n })
	for _, o := range lost {
		s.lose(o.m.disk)
		o.m.folder = s.emptyFolder()
	}
	s.sacrificed = true
	s.check.generation = ledger.GenerationOf(write.Hard.GetTerm())
	s.Met("fault: all disks of the ledger but one lost, and the ledger recovered")
	s.Tracef("the ledger goes on from %s alone, in generation %d", left.m.name, s.check.generation)
}
