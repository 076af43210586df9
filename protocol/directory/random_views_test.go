package directory_test

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
)

// change makes a view change that the voters could decide.
func (m *model) change(t *rapid.T) {
	m.t = t
	v := &m.view
	others := slices.DeleteFunc(slices.Clone(v.Members), func(n phalanx.NodeID) bool { return n == v.Owner || n == v.Backup })
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0: // the owner asks to drop a backup that is silent
		if v.Backup != "" && v.Next == "" && len(others) > 0 {
			v.Epoch++
			v.Backup, v.Next, m.caught = "", rapid.SampledFrom(others).Draw(t, "next"), ""
		}
	case 1: // another backup is wanted
		if v.Next == "" && len(others) > 0 {
			v.Next, m.caught = rapid.SampledFrom(others).Draw(t, "next"), ""
		}
	case 2: // it is not wanted any more
		if v.Next != "" && v.Backup != "" {
			v.Epoch++
			v.Next, m.caught = "", ""
		}
	case 3, 4: // it has caught up; with a backup it is the owner that goes
		m.promote(rapid.Bool().Draw(t, "owner goes"))
		return
	case 5: // owner and backup change places
		if v.Backup != "" && v.Next == "" {
			v.Epoch++
			v.Owner, v.Backup, m.caught = v.Backup, v.Owner, ""
			m.moved()
			return
		}
	}
	m.configure()
}

func (m *model) promote(ownerGoes bool) {
	v := &m.view
	if v.Next == "" || v.Next != m.caught {
		return
	}
	was := v.Owner
	v.Epoch++
	if v.Backup != "" && ownerGoes {
		v.Owner = v.Backup
	}
	v.Backup, v.Next, m.caught = v.Next, "", ""
	if v.Owner != was {
		m.moved()
		return
	}
	m.configure()
}

func (m *model) moved() {
	m.since = m.view.Epoch
	m.pushes = nil
	m.configure()
	m.report()
}

// die kills a node, and lets another one join.
func (m *model) die(t *rapid.T) {
	m.t = t
	v := &m.view
	n := m.node("dead")
	if n == v.Owner && v.Backup == "" || n == v.Backup && rapid.Bool().Draw(t, "spared") {
		return // both of a pair would be lost
	}
	delete(m.replicas, n)
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m phalanx.NodeID) bool { return m == n })
	m.join()
	moved := n == v.Owner
	switch n {
	case v.Owner:
		v.Owner, v.Backup = v.Backup, ""
		v.Epoch++
		m.caught = ""
	case v.Backup:
		v.Backup = ""
		v.Epoch++
		m.caught = ""
	case v.Next:
		v.Next = ""
		v.Epoch++
		m.caught = ""
	}
	if v.Next == v.Owner {
		v.Next = ""
	}
	if v.Backup == "" && v.Next == "" {
		v.Next = v.Members[slices.IndexFunc(v.Members, func(n phalanx.NodeID) bool { return n != v.Owner })]
	}
	if moved {
		m.moved()
		return
	}
	m.configure()
}

// lose kills owner and backup: another member is the owner, and knows what the others tell.
func (m *model) lose(t *rapid.T) {
	m.t = t
	v := &m.view
	if v.Backup == "" || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	dead := []phalanx.NodeID{v.Owner, v.Backup}
	for _, n := range dead {
		delete(m.replicas, n)
	}
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(n phalanx.NodeID) bool { return slices.Contains(dead, n) })
	for range dead {
		m.join()
	}
	v.Epoch++
	v.Owner, v.Backup, v.Next, m.caught = v.Members[0], "", v.Members[1], ""
	for id, s := range m.shown {
		m.digests[s.final] = s.digest
		delete(m.shown, id) // what nobody has all of is gone, and what was deleted may be back
	}
	v.LostAt = v.Epoch
	m.moved()
}
