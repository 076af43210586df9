package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/conformance"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

var roomy = durable.Space{Free: 90e9, Total: 100e9}

type bed struct{ *memory.Folder }

func (b bed) Open(cluster string) (durable.Store, error) {
	d, err := b.Folder.Open(memory.Config{Cluster: cluster, Later: func(f func()) { go f() }})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (b bed) Crash() { b.Folder.Crash(func(n int) int { return n / 2 }) }

func (b bed) Full(full bool) {
	if full {
		b.SetSpace(durable.Space{Free: 4e9, Total: 100e9})
	} else {
		b.SetSpace(roomy)
	}
}

func (b bed) Corrupt(place string) { b.Folder.Corrupt(place) }

func TestConformance(t *testing.T) {
	disk := uint64(0)
	conformance.Run(t, func(*testing.T) conformance.Bed {
		disk++
		return bed{memory.NewFolder(disk, roomy)}
	})
}

// world runs what a disk does later when the test says so, as the simulator does.
type world struct {
	*testing.T
	folder *memory.Folder
	disk   *memory.Disk
	later  []func()
	said   []string // answers, in order
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, folder: memory.NewFolder(5, roomy)}
	w.open()
	if _, err := w.disk.Begin(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) open() {
	w.Helper()
	var err error
	if w.disk, err = w.folder.Open(memory.Config{Later: func(f func()) { w.later = append(w.later, f) }}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) apply(key string, sync bool) {
	w.disk.Apply(ledger.Write{Rows: []ledger.Row{{Key: key, Value: []byte{1}}}, Sync: sync}, func(err error) {
		w.said = append(w.said, fmt.Sprint(key, " ", errors.Is(err, durable.ErrPoisoned)))
	})
}

// run runs all that the disk does later.
func (w *world) run() {
	for len(w.later) > 0 {
		f := w.later[0]
		w.later = w.later[1:]
		f()
	}
}

func (w *world) keys() string {
	w.Helper()
	keys := ""
	if err := w.disk.Scan("", func(r ledger.Row) bool { keys += r.Key; return true }); err != nil {
		w.Fatal(err)
	}
	return keys
}

// A crash keeps what was synced, and of what came after, what waits included, as many Writes as it is told.
func TestCrashKeepsABeginning(t *testing.T) {
	for keep, want := range []string{"ab", "abc", "abcd", "abcde", "abcdef"} {
		w := newWorld(t)
		for _, key := range []string{"a", "b", "c", "d"} {
			w.apply(key, key == "b")
			w.run()
		}
		w.apply("e", false)
		w.apply("f", true) // asks for a sync, and waits
		if w.keys() != "abcd" {
			t.Errorf("rows %s before the crash", w.keys())
		}
		w.folder.Crash(func(n int) int {
			if n != 4 {
				t.Errorf("%d writes can be lost", n)
			}
			return keep
		})
		w.run()
		if got := len(w.said); got != 4 {
			t.Errorf("%d answers: %v", got, w.said)
		}
		w.open()
		if got := w.keys(); got != want {
			t.Errorf("a crash that keeps %d writes leaves %s, want %s", keep, got, want)
		}
	}
}

// After a failed sync all that waits is refused, in order, and nothing that comes later is taken.
func TestFailAnswersAll(t *testing.T) {
	w := newWorld(t)
	w.apply("a", true)
	w.run()
	w.apply("b", true)
	w.apply("c", false)
	w.folder.Fail()
	w.apply("d", true)
	w.run()
	if got, want := fmt.Sprint(w.said), "[a false b true c true d true]"; got != want {
		t.Errorf("answers %s, want %s", got, want)
	}
	w.folder.Crash(func(n int) int { return 0 })
	w.open()
	if got := w.keys(); got != "a" {
		t.Errorf("rows %s", got)
	}
}

// A copy of a folder shows by its counter, as soon as the folder itself was opened again.
func TestCopyHasALowerCounter(t *testing.T) {
	w := newWorld(t)
	copied := w.folder.Copy()
	if err := w.disk.Close(); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.folder.Crash(func(int) int { return 0 })
	w.open()
	d, err := copied.Open(memory.Config{Later: func(f func()) { f() }})
	if err != nil {
		t.Fatal(err)
	}
	if c, own := d.Identity(), w.disk.Identity(); c.Disk != own.Disk || c.Opens >= own.Opens {
		t.Errorf("the copy is %+v, the folder %+v", c, own)
	}
	if _, err := w.folder.Open(memory.Config{}); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a folder in use was opened: %v", err)
	}
}
