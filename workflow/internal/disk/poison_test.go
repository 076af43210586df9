package disk

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// returning is a logger whose Fatalf returns, as that of a test or of a program that wants to live does.
type returning struct{ fatal atomic.Int32 }

func (*returning) Infof(string, ...any)    {}
func (*returning) Errorf(string, ...any)   {}
func (l *returning) Fatalf(string, ...any) { l.fatal.Add(1) }

// raw opens pebble on the bed without what protects the disk.
func raw(t *testing.T, b *bed, log pebble.Logger) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("raw", &pebble.Options{FS: b.fs(), Logger: log, FormatMajorVersion: pebbleFormat})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A logger that returns makes Commit say nil for rows that are not on the disk: why Fatalf never returns.
func TestLoggerThatReturns(t *testing.T) {
	b, log := newBed(t), &returning{}
	db := raw(t, b, log)
	if err := db.Set([]byte("before"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	b.Fail()
	if err := db.Set([]byte("lost"), nil, pebble.Sync); err != nil {
		t.Fatalf("Commit has learnt to fail (%v): a logger that returns is harmless now", err)
	}
	if log.fatal.Load() == 0 {
		t.Fatal("pebble did not call Fatalf")
	}
	b.mem = b.mem.CrashClone(vfs.CrashCloneCfg{})
	after := raw(t, b, log)
	defer after.Close()
	if _, closer, err := after.Get([]byte("before")); err != nil {
		t.Errorf("the row before: %v", err)
	} else {
		_ = closer.Close()
	}
	if _, _, err := after.Get([]byte("lost")); !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("the row that was acknowledged is there after all: %v", err)
	}
}

// Fatalf alone, without the file system that marks the disk first, never lets Commit return.
func TestFatalfNeverReturns(t *testing.T) {
	b, p := newBed(t), newPoison()
	quiet, _ := logtest.NewNullLogger()
	db := raw(t, b, &logger{log: quiet, poison: p})
	b.Fail()
	returned := make(chan error, 1)
	go func() { returned <- db.Set([]byte("lost"), nil, pebble.Sync) }()
	<-p.marked
	if err := p.err(); !errors.Is(err, durable.ErrPoisoned) || !errors.Is(err, errSync) {
		t.Errorf("the mark says %v", err)
	}
	// Whatever pebble still does, guard does not wait for it.
	if err := p.guard(func() error { return <-returned }); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("Commit returned %v", err)
	}
	select {
	case err := <-returned:
		t.Errorf("Commit returned %v", err)
	default:
	}
}

// write applies a Write and waits for its answer.
func write(d durable.Store, w ledger.Write) error {
	done := make(chan error, 1)
	d.Apply(w, func(err error) { done <- err })
	return <-done
}

func one(key string, sync bool) ledger.Write {
	return ledger.Write{Rows: []ledger.Row{{Key: key, Value: []byte(key)}}, Sync: sync}
}

// opened returns an open disk with a replica.
func opened(t *testing.T, dir string, o Options) *Disk {
	t.Helper()
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.State()
	if err != nil {
		t.Fatal(err)
	}
	if s.Replica == 0 {
		if _, err := d.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = d.Close() }) // a test may have poisoned it
	return d
}

// Each operation of a file of pebble that fails poisons the disk or is harmless: whatever was acknowledged
// is there after a crash.
func TestEachFailureOfPebble(t *testing.T) {
	kinds := map[string][]errorfs.OpKind{
		"sync":   {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"write":  {errorfs.OpFileWrite},
		"create": {errorfs.OpCreate, errorfs.OpReuseForWrite},
		"remove": {errorfs.OpRemove},
	}
	for name, ops := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed, poisoned := 0, 0
			for nth := 0; nth < 120; nth += stride + nth/8 {
				f, p := failAt(t, ops, nth)
				failed, poisoned = failed+f, poisoned+p
			}
			t.Logf("%d of %d failures have poisoned the disk", poisoned, failed)
			if name == "sync" && poisoned < failed || failed == 0 {
				t.Errorf("only %d of %d failures have poisoned the disk", poisoned, failed)
			}
		})
	}
}

// failAt fails the nth operation of some kinds while a disk writes and flushes. It returns 1 if there was one,
// and 1 if that has poisoned the disk.
func failAt(t *testing.T, ops []errorfs.OpKind, nth int) (failed, poisoned int) {
	t.Helper()
	b := newBed(t)
	var armed atomic.Bool
	var count atomic.Int32
	fs := errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		for _, k := range ops {
			if k == op.Kind && armed.Load() && int(count.Add(1))-1 == nth {
				return syscall.EIO
			}
		}
		return nil
	}))
	d := opened(t, path, Options{FS: fs})
	armed.Store(true)
	acknowledged := 0
	for i := range 60 {
		if write(d, ledger.Write{Rows: []ledger.Row{{Key: fmt.Sprintf("%03d", i), Value: make([]byte, 30_000)}}, Sync: true}) != nil {
			break
		}
		acknowledged++
		if i%10 == 9 {
			_ = d.poison.guard(d.db.Flush) // its failure shows in the next write, or is tried again
		}
	}
	armed.Store(false)
	if int(count.Load()) > nth {
		failed = 1
	}
	if d.Err() != nil {
		poisoned = 1
	}
	b.used = d
	b.Crash()
	if poisoned == 0 && acknowledged < 60 {
		t.Errorf("operation %d failed: write %d was refused on a disk that is not poisoned", nth, acknowledged)
	}
	after := opened(t, path, Options{FS: b.mem})
	defer after.Close()
	for i := range acknowledged {
		if _, found, err := after.Get(fmt.Sprintf("%03d", i)); err != nil || !found {
			t.Fatalf("operation %d failed: row %d of %d that were acknowledged is lost: %v", nth, i, acknowledged, err)
		}
	}
	return failed, poisoned
}

// Writes that wait while a sync hangs and fails are all answered, in their order, none with nil.
func TestWatcherFailsThoseWhoWait(t *testing.T) {
	b := newBed(t)
	reached, release := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	fs := errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && armed.CompareAndSwap(true, false) {
			close(reached)
			<-release
			return errSync
		}
		return nil
	}))
	d := opened(t, path, Options{FS: fs})
	armed.Store(true)
	const writes = 50
	type answer struct {
		n   int
		err error
	}
	answers := make(chan answer, writes+1)
	apply := func(n int) { d.Apply(one(fmt.Sprint(n), n%2 == 0), func(err error) { answers <- answer{n, err} }) }
	apply(0)
	<-reached
	for n := range writes {
		apply(n + 1)
	}
	close(release)
	for n := range writes + 1 {
		if a := <-answers; a.n != n || !errors.Is(a.err, errSync) {
			t.Fatalf("answer %d: write %d, %v", n, a.n, a.err)
		}
	}
	if err := d.Close(); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("Close: %v", err)
	}
}

// A commit that succeeds after the disk was marked, because of another file, is answered once, and not with nil.
func TestCommitOnAMarkedDisk(t *testing.T) {
	b := newBed(t)
	fs, arm, reached, release := held(b.mem)
	d := opened(t, path, Options{FS: fs})
	arm()
	answers := make(chan error, 2)
	d.Apply(one("k", true), func(err error) { answers <- err })
	<-reached
	d.poison.mark(errSync)
	if err := <-answers; !errors.Is(err, errSync) {
		t.Errorf("the answer is %v", err)
	}
	close(release)
	<-d.committed
	select {
	case err := <-answers:
		t.Errorf("a second answer is %v", err)
	default:
	}
}

// An answer may apply the next Write, on a disk that is poisoned or closed, too.
func TestAnswerMayApply(t *testing.T) {
	for _, end := range []string{"fails", "closes"} {
		b := newBed(t)
		store, err := b.Open("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Begin(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		n := 0
		var next func(error)
		next = func(err error) {
			if n++; n == 20 {
				switch end {
				case "fails":
					b.Fail()
				case "closes":
					go func() { _ = store.Close() }() // it waits for this answer
				}
			}
			if n > 100 && err != nil {
				over <- err
				return
			}
			store.Apply(one(fmt.Sprint(n), true), next)
		}
		store.Apply(one("0", true), next)
		if err := <-over; !errors.Is(err, durable.ErrPoisoned) && !errors.Is(err, durable.ErrClosed) {
			t.Errorf("%s: %v", end, err)
		}
		_ = store.Close() // poisoned, or closed already
	}
}

// A blob whose sync fails poisons the disk, too.
func TestFailedSyncOfABlob(t *testing.T) {
	b := newBed(t)
	store, err := b.Open("")
	if err != nil {
		t.Fatal(err)
	}
	b.Fail()
	if err := store.Put("p", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("Put: %v", err)
	}
	if err := store.Put("p", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("the next Put: %v", err)
	}
	if err := store.Err(); !errors.Is(err, errSync) {
		t.Errorf("Err: %v", err)
	}
}

// A panic of pebble in the committer is a failure of the disk, and not the end of the process.
func TestPanicOfPebble(t *testing.T) {
	p := newPoison()
	if err := p.guard(func() error { panic(errSync) }); !errors.Is(err, errSync) || !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("guard: %v", err)
	}
	p = newPoison()
	if err := p.guard(func() error { panic("text") }); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("guard: %v", err)
	}
}
