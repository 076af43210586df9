package memory

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
)

// Folder is what survives the process that uses it. It is safe for concurrent use.
type Folder struct {
	mu         sync.Mutex
	identity   durable.Identity
	members    []string
	boot       uint64
	generation uint64
	synced     image  // what a crash cannot take
	current    image  // and what it can
	unsynced   []step // between them
	blobs      map[string]blob
	space      durable.Space
	used       *Disk // nil: nobody uses it
}

type blob struct {
	bytes  []byte
	size   int64
	digest phalanx.Digest
}

// NewFolder returns an empty folder whose file system has space. disk is its id, at most 48 bits.
func NewFolder(disk uint64, space durable.Space) *Folder {
	empty := image{rows: map[string][]byte{}}
	return &Folder{identity: durable.Identity{Disk: disk}, synced: empty, current: empty.clone(),
		blobs: map[string]blob{}, space: space}
}

// Config of a Disk.
type Config struct {
	Cluster string // as in the options of the real disk
	// Later runs a function after Apply has returned: the commit of what waits. It is called without
	// locks, and never before the function before it has run.
	Later func(func())
}

// Open uses the folder. Its errors are *durable.OpenError.
func (f *Folder) Open(c Config) (*Disk, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used != nil {
		return nil, &durable.OpenError{Dir: f.name(), Problem: durable.ErrLocked}
	}
	if bound := f.identity.Cluster; bound != "" && c.Cluster != "" && bound != c.Cluster {
		return nil, &durable.OpenError{Dir: f.name(), Problem: durable.ErrOtherCluster, Cause: fmt.Errorf("it belongs to %q, not to %q", bound, c.Cluster)}
	}
	f.identity.Opens++
	f.sync() // the real disk syncs its counter, and with it all before
	f.used = &Disk{folder: f, later: c.Later, failed: make(chan struct{}), streams: map[uint64]*stream{}}
	return f.used, nil
}

func (f *Folder) name() string { return fmt.Sprintf("disk %012x", f.identity.Disk) }

// Crash ends the process that uses the folder; nothing is answered any more. Of the n Writes that were
// not synced, those that wait included, the first keep(n) are on the disk.
func (f *Folder) Crash(keep func(n int) int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	steps := f.unsynced
	if f.used != nil {
		steps = slices.Concat(steps, f.used.waitingSteps())
		f.used.over, f.used.crashed, f.used.waiting = durable.ErrClosed, true, nil
		f.used = nil
	}
	for i := range keep(len(steps)) {
		next := f.synced.clone()
		if next.apply(&steps[i]) != nil { // an invalid one never reached the disk
			break
		}
		f.synced = next
	}
	f.current, f.unsynced = f.synced.clone(), nil
}

// Fail makes the next sync fail: the disk of the process that uses the folder is poisoned.
func (f *Folder) Fail() {
	f.mu.Lock()
	d := f.used
	if d != nil {
		d.poison(fmt.Errorf("a sync failed"))
	}
	f.mu.Unlock()
	if d != nil {
		d.kick()
	}
}

// SetSpace changes the free space.
func (f *Folder) SetSpace(s durable.Space) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space = s
}

// Corrupt changes a byte of the blob under place, or cuts off an empty one's header. It reports
// whether there is one.
func (f *Folder) Corrupt(place string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.blobs[place]
	if !ok {
		return false
	}
	b.bytes = slices.Clone(b.bytes)
	if len(b.bytes) > 0 {
		b.bytes[len(b.bytes)/2] ^= 1
	} else {
		b.bytes = []byte{0}
	}
	f.blobs[place] = b
	return true
}

// Copy returns a copy of what is synced: a folder that somebody has restored from a backup.
func (f *Folder) Copy() *Folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Folder{identity: f.identity, members: slices.Clone(f.members), boot: f.boot, generation: f.generation, synced: f.synced.clone(),
		current: f.synced.clone(), blobs: maps.Clone(f.blobs), space: f.space}
}

// Fork returns a folder that has all that this one has, what is not synced included, and that nobody uses.
// Writes that wait are not in it. A test asks it what a crash could leave.
func (f *Folder) Fork() *Folder {
	c := f.Copy()
	f.mu.Lock()
	defer f.mu.Unlock()
	c.current, c.unsynced = f.current.clone(), slices.Clone(f.unsynced)
	return c
}

// sync makes all that was written safe.
func (f *Folder) sync() {
	for i := range f.unsynced {
		if err := f.synced.apply(&f.unsynced[i]); err != nil {
			panic(fmt.Sprintf("memory: a step was valid once: %v", err))
		}
	}
	f.unsynced = nil
}
