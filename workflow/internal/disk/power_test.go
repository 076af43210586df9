package disk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// The power is cut at random moments of random Writes. A second implementation, which keeps
// each number of Writes that were not synced, says what may be on the disk: all that was acknowledged
// with a sync, and of what came later a beginning.
func TestPowerIsCut(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 100
	}
	seeds /= stride
	lost, kept := 0, 0
	for seed := range seeds {
		c := &cutting{T: t, seed: uint64(seed), rng: rand.New(rand.NewPCG(uint64(seed), 1)), bed: newBed(t)}
		c.bed.rng = c.rng
		c.model = memory.NewFolder(1, durable.Space{})
		c.run()
		lost, kept = lost+c.lost, kept+c.kept
	}
	t.Logf("crashes lost %d writes that were not synced and kept %d", lost, kept)
	if seeds >= 100 && (lost == 0 || kept == 0) {
		t.Errorf("crashes lost %d writes that were not synced and kept %d", lost, kept)
	}
}

type cutting struct {
	*testing.T
	seed  uint64
	rng   *rand.Rand
	bed   *bed
	model *memory.Folder

	disk       durable.Store
	twin       *memory.Disk
	unsynced   int // writes since the last sync
	first      uint64
	last       uint64
	applied    uint64
	term       uint64
	stream     uint64
	blobs      map[string]string // that were put
	lost, kept int
}

func (c *cutting) run() {
	c.blobs = map[string]string{}
	c.open()
	c.begin()
	for range 3 {
		for range 5 + c.rng.IntN(30) {
			c.step()
		}
		c.cut()
	}
	_ = c.disk.Close() // its file system is thrown away
}

func (c *cutting) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("seed %d: %v", c.seed, err)
	}
}

// open opens both.
func (c *cutting) open() {
	c.Helper()
	var err error
	c.disk, err = c.bed.Open("")
	c.ok(err)
	c.twin, err = c.model.Open(memory.Config{Later: func(f func()) { f() }})
	c.ok(err)
}

func (c *cutting) begin() {
	_, err := c.disk.Begin()
	c.ok(err)
	_, err = c.twin.Begin()
	c.ok(err)
	c.unsynced, c.first, c.last, c.applied = 0, 1, 0, 0
}

// step makes one change in both.
func (c *cutting) step() {
	switch c.rng.IntN(40) {
	case 0:
		c.begin()
	case 1:
		c.install()
	case 2, 3:
		c.blob()
	case 4:
		c.ok(c.disk.(*Disk).db.Flush())
	default:
		c.write(c.random())
	}
}

// random returns a valid Write.
func (c *cutting) random() ledger.Write {
	w := ledger.Write{Sync: c.rng.IntN(3) == 0}
	for range c.rng.IntN(4) {
		key := fmt.Sprintf("%c/%d", 'a'+c.rng.IntN(3), c.rng.IntN(20))
		switch c.rng.IntN(8) {
		case 0:
			w.Rows = append(w.Rows, ledger.Row{Key: key[:2], End: key[:1] + "0"})
		case 1:
			w.Rows = append(w.Rows, ledger.Row{Key: key})
		default:
			w.Rows = append(w.Rows, ledger.Row{Key: key, Value: bytes.Repeat([]byte{byte(c.rng.IntN(256))}, c.rng.IntN(9000))})
		}
	}
	if c.rng.IntN(2) == 0 {
		from := c.applied + 1 + c.rng.Uint64N(c.last-c.applied+1)
		c.term += c.rng.Uint64N(2)
		for i := range 1 + c.rng.Uint64N(4) {
			w.Entries = append(w.Entries, &raftpb.Entry{Index: proto.Uint64(from + i), Term: proto.Uint64(c.term), Data: make([]byte, c.rng.IntN(500))})
			c.last = from + i
		}
		if from < c.first {
			c.first = from
		}
		w.Hard = &raftpb.HardState{Term: proto.Uint64(c.term), Commit: proto.Uint64(c.applied)}
	}
	if c.last > c.applied && c.rng.IntN(2) == 0 {
		c.applied += 1 + c.rng.Uint64N(c.last-c.applied)
		w.Applied = c.applied
		w.Conf = &raftpb.ConfState{Voters: []uint64{c.applied}}
	}
	if c.rng.IntN(8) == 0 && c.applied > 0 {
		w.Compact = 1 + c.rng.Uint64N(c.applied)
	}
	return w
}

func (c *cutting) write(w ledger.Write) {
	c.Helper()
	w.Number = c.rng.Uint64()
	var err error
	c.twin.Apply(w, func(e error) { err = e })
	c.ok(err)
	c.ok(write(c.disk, w))
	if c.unsynced++; w.Sync {
		c.unsynced = 0
	}
}

// install gives both a snapshot of another folder.
func (c *cutting) install() {
	from := memory.NewFolder(2, durable.Space{})
	d, err := from.Open(memory.Config{Later: func(f func()) { f() }})
	c.ok(err)
	_, err = d.Begin()
	c.ok(err)
	index := c.last + 1 + c.rng.Uint64N(3)
	rows := []ledger.Row{{Key: "a/1", Value: []byte("installed")}, {Key: "i", Value: bytes.Repeat([]byte("i"), c.rng.IntN(100_000))}}
	d.Apply(ledger.Write{Rows: rows, Applied: index}, func(err error) { c.ok(err) })
	var s durable.Snapshot
	d.Snapshot(func(taken durable.Snapshot, err error) {
		c.ok(err)
		s = taken
	})
	var b bytes.Buffer
	_, err = s.WriteTo(&b)
	c.ok(err)
	c.stream++
	c.ok(c.disk.Receive(c.stream, bytes.NewReader(b.Bytes())))
	c.ok(c.twin.Receive(c.stream, bytes.NewReader(b.Bytes())))
	if c.rng.IntN(3) == 0 {
		c.ok(c.disk.Abandon(c.stream))
		c.ok(c.twin.Abandon(c.stream))
		return
	}
	c.write(ledger.Write{Install: &ledger.Install{Index: index, Term: s.Term(), Conf: &raftpb.ConfState{Voters: []uint64{index}}, Stream: c.stream}, Sync: c.rng.IntN(2) == 0})
	c.first, c.last, c.applied = index+1, index, index
}

// blob puts or deletes a blob.
func (c *cutting) blob() {
	place := fmt.Sprintf("blob/%d", c.rng.IntN(3))
	text := strings.Repeat(fmt.Sprint(c.rng.IntN(100)), c.rng.IntN(5000))
	c.ok(c.disk.Put(place, strings.NewReader(text), int64(len(text)), durable.DigestOf([]byte(text))))
	c.blobs[place] = text
}

// cut cuts the power and looks how many of the writes that were not synced are there.
func (c *cutting) cut() {
	c.Helper()
	before := c.model
	c.bed.Crash()
	disk, err := c.bed.Open("")
	c.ok(err)
	got, others := c.picture(disk), ""
	for keep := 0; ; keep++ {
		if keep > c.unsynced {
			c.Fatalf("seed %d: no beginning of the %d unsynced writes gives what is on the disk:\n%s\nbut%s", c.seed, c.unsynced, got, others)
		}
		model := cloneWith(before, keep)
		twin, err := model.Open(memory.Config{Later: func(f func()) { f() }})
		c.ok(err)
		other := c.picture(twin)
		others += "\n" + other
		if other == got {
			c.kept, c.lost = c.kept+keep, c.lost+c.unsynced-keep
			c.disk, c.twin, c.model = disk, twin, model
			break
		}
	}
	c.unsynced = 0
	s, err := c.disk.State()
	c.ok(err)
	c.first, c.last, c.applied = s.First, s.First+uint64(len(s.Entries))-1, s.Applied
	for place, want := range c.blobs {
		b, err := c.disk.Open(place)
		c.ok(err)
		var all bytes.Buffer
		_, err = all.ReadFrom(b)
		c.ok(err)
		c.ok(b.Close())
		if all.String() != want {
			c.Fatalf("seed %d: the blob %s has changed", c.seed, place)
		}
	}
}

// cloneWith returns f after a crash that keeps some writes; f stays.
func cloneWith(f *memory.Folder, keep int) *memory.Folder {
	clone := f.Fork()
	clone.Crash(func(int) int { return keep })
	return clone
}

// picture is all that a store has of its replica, as text. The log below applied may be longer.
func (c *cutting) picture(d durable.Store) string {
	c.Helper()
	s, err := d.State()
	c.ok(err)
	var b strings.Builder
	fmt.Fprintf(&b, "replica %d hard %v conf %v applied %d term %d first %d:", s.Replica&0xffff, s.Hard, s.Conf.GetVoters(), s.Applied, s.AppliedTerm, s.First)
	for _, e := range s.Entries {
		fmt.Fprintf(&b, " %d.%d(%d)", e.GetIndex(), e.GetTerm(), len(e.GetData()))
	}
	var rows []string
	c.ok(d.Scan("", func(r ledger.Row) bool {
		rows = append(rows, fmt.Sprintf("%s=%x*%d", r.Key, r.Value[:min(1, len(r.Value))], len(r.Value)))
		value, found, err := d.Get(r.Key)
		c.ok(err)
		if !found || !bytes.Equal(value, r.Value) {
			c.Fatalf("seed %d: Get of %s is not what Scan gives", c.seed, r.Key)
		}
		return true
	}))
	return b.String() + "\n" + strings.Join(rows, " ")
}
