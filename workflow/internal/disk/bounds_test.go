package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// held is a file system whose next sync of a log waits until it is released.
func held(mem vfs.FS) (fs vfs.FS, arm func(), reached, release chan struct{}) {
	reached, release = make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	fs = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && armed.CompareAndSwap(true, false) {
			close(reached)
			<-release
		}
		return nil
	}))
	return fs, func() { armed.Store(true) }, reached, release
}

// No more than the bound waits for the committer; what is larger alone is taken when nothing else waits.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		const size = durable.MaxWaiting / 8
		for range 8 {
			q.add(change{size: size})
		}
		var added atomic.Int32
		for _, n := range []int{1, size, durable.MaxWaiting + 1} {
			go func() {
				q.add(change{size: n})
				added.Add(1)
			}()
			synctest.Wait()
		}
		if n := added.Load(); n != 0 {
			t.Errorf("%d changes have passed the bound", n)
		}
		for q.bytes > 0 {
			if n := len(q.take()); n*size > maxBatch && n > 1 {
				t.Errorf("a batch has %d changes of %d bytes", n, size)
			}
			q.landed()
			synctest.Wait()
			if q.bytes > durable.MaxWaiting+1 {
				t.Errorf("%d bytes wait", q.bytes)
			}
		}
		if n := added.Load(); n != 3 {
			t.Errorf("%d of 3 changes were added in the end", n)
		}
		q.add(change{size: durable.MaxWaiting})
		go q.add(change{size: 1})
		synctest.Wait()
		q.end(durable.ErrClosed) // or the bubble stays
		synctest.Wait()
		if n := len(q.rest()); n != 2 {
			t.Errorf("%d changes are left to answer", n)
		}
	})
}

// Writes that come while a sync is under way share the next one.
func TestWritersShareASync(t *testing.T) {
	b := newBed(t)
	fs, arm, reached, release := held(b.mem)
	var syncs atomic.Int32
	counting := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			syncs.Add(1)
		}
		return nil
	}))
	d := opened(t, path, Options{FS: counting})
	arm()
	answers := make(chan error, 200)
	before := syncs.Load()
	for i := range cap(answers) {
		d.Apply(one(fmt.Sprint(i), i%2 == 0), func(err error) { answers <- err })
		if i == 0 {
			<-reached
		}
	}
	close(release)
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if n := syncs.Load() - before; n != 2 {
		t.Errorf("%d writes took %d syncs", cap(answers), n)
	}
	before = syncs.Load()
	for range 20 {
		if err := write(d, one("unsynced", false)); err != nil {
			t.Error(err)
		}
	}
	if n := syncs.Load() - before; n != 0 {
		t.Errorf("20 writes without sync took %d", n)
	}
}

// A long log is loaded from its end: what is applied can be left out.
func TestStateIsBounded(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.mem})
	const n, each = 60, 1 << 20
	for i := range uint64(n) {
		w := ledger.Write{Entries: []*raftpb.Entry{{Index: proto.Uint64(i + 1), Term: proto.Uint64(3), Data: make([]byte, each)}}}
		if i >= 10 {
			w.Applied = i - 9
		}
		if err := write(d, w); err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.State()
	if err != nil {
		t.Fatal(err)
	}
	last := s.Entries[len(s.Entries)-1].GetIndex()
	if size := len(s.Entries) * each; size > loadCommitted || s.First > s.Applied || last != n || s.Applied != n-10 || s.AppliedTerm != 3 {
		t.Errorf("%d bytes from %d to %d, applied %d in term %d", size, s.First, last, s.Applied, s.AppliedTerm)
	}
}

// A folder can have so many replicas, and then is replaced.
func TestReplicasAreNumbered(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.mem})
	d.replica.number = durable.MaxReplicas - 2
	id, err := d.Begin()
	if err != nil || id != d.Identity().Disk<<16|(durable.MaxReplicas-1) {
		t.Errorf("the last replica is %x: %v", id, err)
	}
	if id, err := d.Begin(); !errors.Is(err, durable.ErrInvalid) {
		t.Errorf("one more replica is %x: %v", id, err)
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}

// What a crash leaves of Puts is removed, and nothing else.
func TestOrphanFilesAreRemoved(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.mem})
	if err := d.Put("kept", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	read, feed := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- d.Put("orphan", read, 100_000, phalanx.Digest{}) }()
	if _, err := feed.Write(make([]byte, 50_000)); err != nil { // Put has begun its file
		t.Fatal(err)
	}
	b.mem = b.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	_ = feed.CloseWithError(io.ErrClosedPipe)
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Put: %v", err)
	}
	if files := blobFiles(t, b.mem); files != 2 {
		t.Fatalf("the crash has left %d files", files)
	}
	d = opened(t, path, Options{FS: b.mem})
	if files := blobFiles(t, b.mem); files != 1 {
		t.Errorf("%d files are left", files)
	}
	if blob, err := d.Open("kept"); err != nil {
		t.Error(err)
	} else if err := blob.Close(); err != nil {
		t.Error(err)
	}
}

func blobFiles(t *testing.T, fs vfs.FS) int {
	t.Helper()
	names, err := fs.List(fs.PathJoin(path, blobsName))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// A blob under another place, a shorter, a longer or an empty file is corrupt; so is each flipped bit.
func TestBlobFilesAreChecked(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.mem})
	text := []byte("forty-two bytes of a checkpoint are enough")
	put := func() {
		if err := d.Put("p", bytes.NewReader(text), int64(len(text)), durable.DigestOf(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func() error {
		blob, err := d.Open("p")
		if err != nil {
			return err
		}
		_, err = io.ReadAll(blob)
		return errors.Join(err, blob.Close())
	}
	put()
	if err := read(); err != nil {
		t.Fatal(err)
	}
	file := d.blobPath("p")
	whole := contents(t, b.mem, file)
	for at := range whole {
		flip(t, b.mem, file, int64(at))
		if err := read(); !errors.Is(err, durable.ErrCorrupt) {
			t.Errorf("a flipped bit at %d: %v", at, err)
		}
		put()
	}
	for n := range whole {
		replace(t, b.mem, file, whole[:n])
		if err := read(); !errors.Is(err, durable.ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	replace(t, b.mem, file, append(whole, 0))
	if err := read(); !errors.Is(err, durable.ErrCorrupt) {
		t.Errorf("one byte more: %v", err)
	}
	replace(t, b.mem, d.blobPath("q"), whole)
	if _, err := d.Open("q"); !errors.Is(err, durable.ErrCorrupt) {
		t.Errorf("a blob of another place: %v", err)
	}
}

func contents(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func replace(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(b) > 0 {
		if _, err := f.Write(bytes.Clone(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// A file system that is full in the middle of a Put refuses it and is not poisoned.
func TestFullDuringPut(t *testing.T) {
	b := newBed(t)
	var full atomic.Bool
	fs := errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, tmpPrefix) {
			return syscall.ENOSPC
		}
		return nil
	}))
	d := opened(t, path, Options{FS: fs})
	full.Store(true)
	if err := d.Put("p", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); !errors.Is(err, phalanx.ErrNoSpace) {
		t.Errorf("Put: %v", err)
	}
	full.Store(false)
	if files := blobFiles(t, b.mem); files != 0 || d.Err() != nil {
		t.Errorf("%d files are left: %v", files, d.Err())
	}
	if err := d.Put("p", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); err != nil {
		t.Error(err)
	}
}

// A Put that fails since the process has no file descriptors left leaves the blob that was there.
func TestPutWithoutFileDescriptors(t *testing.T) {
	b := newBed(t)
	var none atomic.Bool
	d := opened(t, path, Options{FS: errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if none.Load() && op.Kind == errorfs.OpOpenDir {
			return syscall.EMFILE
		}
		return nil
	}))})
	put := func(text string) error {
		return d.Put("p", strings.NewReader(text), int64(len(text)), durable.DigestOf([]byte(text)))
	}
	if err := put("old"); err != nil {
		t.Fatal(err)
	}
	none.Store(true)
	if err := put("new"); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Put: %v", err)
	}
	none.Store(false)
	blob, err := d.Open("p")
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	if text, err := io.ReadAll(blob); string(text) != "old" || err != nil {
		t.Errorf("after a Put that failed the blob is %q: %v", text, err)
	}
	if files := blobFiles(t, b.mem); files != 1 || d.Err() != nil {
		t.Errorf("%d files are left: %v", files, d.Err())
	}
}

// A large blob is written piece by piece, not all at once by its sync. A piece that cannot be written poisons the disk.
func TestLargeBlobsAreWrittenSteadily(t *testing.T) {
	b := newBed(t)
	var told atomic.Int32
	var fail atomic.Bool
	d := opened(t, path, Options{FS: errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncTo && strings.Contains(op.Path, tmpPrefix) {
			told.Add(1)
			if fail.Load() {
				return errSync
			}
		}
		return nil
	}))})
	blob := make([]byte, 5*steadyBytes)
	put := func() error {
		return d.Put("p", struct{ io.Reader }{bytes.NewReader(blob)}, int64(len(blob)), durable.DigestOf(blob))
	}
	if err := put(); err != nil || told.Load() < 4 {
		t.Errorf("%d pieces of 5: %v", told.Load(), err)
	}
	fail.Store(true)
	if err := put(); !errors.Is(err, errSync) {
		t.Errorf("Put: %v", err)
	}
	if err := d.Err(); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("after a piece that could not be written the disk is %v", err)
	}
}

// Close ends what the disk has started. A Put whose reader never answers does not hold it up.
func TestCloseLeavesNothing(t *testing.T) {
	ours := goleak.IgnoreCurrent()
	d, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := write(d, one("k", true)); err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	d.Snapshot(func(_ durable.Snapshot, err error) { taken <- err }) // Close closes it
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	read, feed := io.Pipe()
	put, receive := make(chan error, 1), make(chan error, 1)
	go func() { put <- d.Put("p", read, 10, phalanx.Digest{}) }()
	if _, err := feed.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	slow, stream := io.Pipe()
	go func() { receive <- d.Receive(1, slow) }()
	if _, err := stream.Write([]byte("phx")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	_, _ = feed.CloseWithError(io.ErrClosedPipe), stream.CloseWithError(io.ErrClosedPipe) // they never fail
	if err := <-put; err == nil {
		t.Error("Put succeeded on a closed disk")
	}
	if err := <-receive; err == nil {
		t.Error("Receive succeeded on a closed disk")
	}
	if err := goleak.Find(ours); err != nil {
		t.Error(err)
	}
}

// A disk that hangs does not hold up Close for longer than its time, nor does a reader. What waits is answered.
func TestCloseEnds(t *testing.T) {
	for name, hang := range map[string]func(t *testing.T, d *Disk) (answers <-chan error){
		"a sync hangs": func(_ *testing.T, d *Disk) <-chan error {
			answers := make(chan error, 2)
			d.Apply(one("k", true), func(err error) { answers <- err })
			d.Apply(one("l", true), func(err error) { answers <- err })
			return answers
		},
		"a reader goes on": func(t *testing.T, d *Disk) <-chan error {
			if err := write(d, one("k", false)); err != nil {
				t.Fatal(err)
			}
			reads, read := make(chan bool), make(chan error, 2)
			go func() {
				read <- d.Scan("", func(ledger.Row) bool {
					close(reads)
					<-d.Failed()
					return false
				})
				read <- d.Err()
			}()
			<-reads
			return read
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			fs, arm, reached, release := held(b.mem)
			d := opened(t, path, Options{FS: fs})
			d.closeWithin = 10 * time.Millisecond
			arm()
			answers := hang(t, d)
			if name == "a sync hangs" {
				<-reached
			}
			if err := d.Close(); !errors.Is(err, durable.ErrPoisoned) {
				t.Errorf("Close: %v", err)
			}
			for range cap(answers) {
				if err := <-answers; !errors.Is(err, durable.ErrPoisoned) && !errors.Is(err, durable.ErrClosed) {
					t.Errorf("what waits is answered with %v", err)
				}
			}
			close(release)
		})
	}
}

// A sync that fails while pebble is closed leaves the folder locked: pebble may use its files still.
func TestFailedSyncInClose(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.fs()})
	if err := write(d, one("k", false)); err != nil {
		t.Fatal(err)
	}
	b.Fail()
	if err := d.Close(); !errors.Is(err, durable.ErrPoisoned) {
		t.Fatalf("Close: %v", err)
	}
	fails(t, b.mem, Options{}, durable.ErrLocked, "stop it")
}
