package workflows

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// folder is the feature of members with a folder.
const folder = "folder"

// markOf is the feature of members with a folder that belongs to no ledger yet.
func markOf(disk uint64) string { return fmt.Sprintf("%s/%x", folder, disk) }

// machine is what outlives the processes on it.
type machine struct {
	name   string
	folder *memory.Folder // nil: it has none
	disk   uint64         // the id of the folder
	temp   bool           // each process has another folder
	index  int
	failed bool // a sync of this opening of the folder has failed
}

// machineOf returns the machine with a name. Some of those that come later have no folder, or a temporary one.
func (s *service) machineOf(name string) *machine {
	m := s.machines[name]
	if m != nil {
		return m
	}
	m = &machine{name: name, index: len(s.machines)}
	s.machines[name] = m
	switch k := s.R.IntN(8); {
	case s.Alone && m.index == 0 && k == 0: // it begins the cluster without one; other services have few nodes, of which two may leave
	case m.index < 4 || k > 1:
		m.folder = s.emptyFolder()
	case k == 1 && !s.anyTemp() && !s.sacrificed: // one at a time may be lost
		m.temp = true
	}
	return m
}

func (s *service) emptyFolder() *memory.Folder {
	s.disks++
	return memory.NewFolder(s.disks, freeSpace)
}

var freeSpace = durable.Space{Free: 90e9, Total: 100e9}

// open opens the folder of a process that starts.
func (h *host) open() {
	m := h.machine
	if m.temp {
		m.folder = h.emptyFolder()
	}
	if m.folder == nil {
		h.begin(nil)
		return
	}
	m.failed = false
	disk, err := m.folder.Open(memory.Config{Later: func(f func()) { h.later(1+h.Upto(3*ms), f) }})
	if err != nil {
		h.Fail("the folder of %s cannot be opened: %v", m.name, err)
	}
	m.disk = disk.Identity().Disk
	h.begin(disk)
}

// crash ends the process's use of its folder. What was not synced may be lost.
func (h *host) crash() {
	if h.keeper.disk != nil {
		h.machine.folder.Crash(func(n int) int { return h.R.IntN(n + 1) })
	}
}

// sacrifices reports whether the ledger can lose a disk: the leader's group has three others or does not have it, and no
// disk was lost before.
func (s *service) sacrifices(m *machine) bool {
	l := s.leader()
	if s.sacrificed || l == nil || m.folder == nil || s.anyTemp() || !s.spare(m.disk) {
		return false
	}
	voters := l.keeper.core.Voters()
	return len(voters) >= 3 || len(voters) > 0 && !slices.ContainsFunc(voters, func(id uint64) bool { return id>>16 == m.disk })
}

func (s *service) anyTemp() bool {
	for _, m := range s.machines {
		if m.temp {
			return true
		}
	}
	return false
}

// breaks has a disk fail, once: a sync does. The process begins again later.
func (s *service) breaks() string {
	p := s.someone()
	if p == nil || s.hosts[p].keeper.disk == nil || s.calm {
		return "no disk fails"
	}
	h := s.hosts[p]
	s.Met("fault: sync of a disk fails")
	h.machine.failed = true
	h.machine.folder.Fail()
	s.Owes(p) // if it leaves now nobody takes what the disk has
	h.tell(lnode.ForReplica{Event: ledger.WriteFailed{}})
	s.Wake(p)
	s.After(s.Upto(3*time.Second), func() {
		if !p.Dead {
			s.Reboot(p)
		}
	})
	return "a sync of the disk of " + p.Name() + " fails"
}

// fills has a disk be nearly full for a while.
func (s *service) fills() string {
	p := s.someone()
	if p == nil || s.hosts[p].machine.folder == nil || s.calm {
		return "no disk is full"
	}
	f := s.hosts[p].machine.folder
	s.Met("fault: disk is full for a while")
	f.SetSpace(durable.Space{Total: freeSpace.Total})
	s.After(s.Upto(4*time.Second), func() { f.SetSpace(freeSpace) })
	return "the disk of " + p.Name() + " is full"
}

// rots has a checkpoint change on a disk, if another disk has it as well.
func (s *service) rots() string {
	p := s.someone()
	if p == nil || s.hosts[p].machine.folder == nil || s.calm || s.anyTemp() {
		return "no checkpoint changes"
	}
	h := s.hosts[p]
	for _, place := range slices.Sorted(maps.Keys(s.blobs)) {
		if on := s.blobs[place]; len(on) > 1 && slices.Contains(on, h.machine.disk) && h.machine.folder.Corrupt(place) {
			s.Met("fault: a checkpoint changes on its disk")
			h.safe(place, false)
			s.rotted[place] = append(s.rotted[place], h.machine.disk)
			return "the checkpoint " + place + " changes on the disk of " + p.Name()
		}
	}
	return "no checkpoint changes"
}

// loses has a machine lose its disk, or never come back.
func (s *service) loses() string {
	p := s.someone()
	if p == nil || s.calm || !s.sacrifices(s.machines[p.Name()]) {
		return "no disk can be lost"
	}
	m := s.machines[p.Name()]
	if s.R.IntN(2) == 0 {
		if !s.Retire(p) {
			return "no machine can be lost"
		}
		s.Met("fault: machine lost for good")
		s.sacrificed, s.retired = true, true
		s.lose(m.disk)
		return p.Name() + " never comes back"
	}
	if !s.Crash(p) {
		return "no disk can be lost"
	}
	s.Met("fault: folder replaced by an empty one")
	s.sacrificed = true
	s.lose(m.disk)
	m.folder = s.emptyFolder()
	return "the folder of " + p.Name() + " is replaced by an empty one"
}
