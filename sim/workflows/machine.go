package workflows

import (
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
)

// machine is what outlives the processes on it.
type machine struct {
	name   string
	folder *memory.Folder // nil: it has none
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
	case m.index < 3 || k > 1:
		m.folder = s.emptyFolder()
	case k == 1:
		m.temp = true
	}
	return m
}

func (s *service) emptyFolder() *memory.Folder {
	s.disks++
	return memory.NewFolder(s.disks, durable.Space{Free: 90e9, Total: 100e9})
}

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
	h.begin(disk)
}

// crash ends the process's use of its folder. What was not synced may be lost.
func (h *host) crash() {
	if h.keeper.disk != nil {
		h.machine.folder.Crash(func(n int) int { return h.R.IntN(n + 1) })
	}
}
