package workflows

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/messages"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// keeper is a process's part of the ledger, as package keeper hosts it.
type keeper struct {
	disk    *memory.Disk  // nil: none
	core    *lnode.Core   // nil: the disk was not read yet
	run     uint64        // of this opening of the folder
	life    uint64        // of the actor: its instances
	viewed  *lnode.Viewed // the newest one: each instance begins with it
	stepped time.Duration

	remains lnode.Remains
	halted  bool
	tenure  *tenure           // nil: none goes on
	sent    map[uint64]uint64 // snapshots that are not taken yet, by stream: their receivers

	controller *controller // here; nil: none
}

// recordKey is the key of the row that says which node begins the cluster anew.
const recordKey = "ledger/boot"

func clusterOf(ledger uint64) string { return fmt.Sprintf("%016x", ledger) }

func ledgerMembers(v view.View) (out []lnode.Member) {
	for _, m := range v.Members {
		out = append(out, lnode.Member{Node: m.ID, Address: m.Control, Keeps: m.Has(Kind.Name), Folder: m.Has(folder), Votes: slices.Contains(v.Voters, m.ID), Leaving: m.Leaving})
	}
	return out
}

// begin begins with a folder that is open, or with none.
func (h *host) begin(disk *memory.Disk) {
	h.keeper = keeper{disk: disk, run: h.R.Uint64() | 1, sent: map[uint64]uint64{}}
	h.load()
}

// resumes reports whether the folder belongs to a ledger, and the nodes that it knows.
func (h *host) resumes() ([]string, bool) {
	d := h.keeper.disk
	if d == nil || d.Identity().Cluster == "" {
		return nil, false
	}
	return d.Remembered(), true
}

// load begins an instance with what the disk holds.
func (h *host) load() {
	k := &h.keeper
	k.life++
	life := k.life
	if k.disk == nil {
		h.soon(func() { h.loaded(life, 0) })
		return
	}
	k.disk.Snapshot(func(s durable.Snapshot, _ error) { // its answer stands behind all others, even an error
		if s != nil {
			_ = s.Close()
		}
		h.post(func() { h.loaded(life, ledgerOf(k.disk.Identity().Cluster)) })
	})
}

// loaded begins with what the disk holds.
func (h *host) loaded(life, id uint64) {
	k := &h.keeper
	if life != k.life {
		return
	}
	cfg := h.work.times
	cfg.Name, cfg.Address, cfg.Host, cfg.Temporary, cfg.Run = h.p.Name(), h.p.Name(), h.p.Name(), h.machine.temp, k.run
	var state ledger.State
	if k.disk != nil {
		i := k.disk.Identity()
		cfg.Addresses = slices.Concat(k.disk.Remembered(), h.Seeds(h.p))
		cfg.Disk, cfg.Opened, cfg.Ledger, cfg.Generation = i.Disk, i.Opens, id, k.disk.Generation()
	}
	core, err := lnode.New(cfg)
	if err != nil {
		h.Fail("%v", err)
	}
	k.core = core
	if id != 0 {
		if state, err = k.disk.State(); err != nil {
			h.ledger(lnode.Failed{Err: err})
		} else if state.Replica != 0 {
			h.ledger(lnode.Opened{Ledger: id, State: state})
		} else {
			h.bind(id, false) // the process ended between the two
		}
	}
	if k.viewed != nil {
		h.ledger(*k.viewed)
	}
	h.ledger(lnode.Tick{})
}

// ledger gives the core an event, and carries out its effects.
func (h *host) ledger(ev lnode.Event) {
	k := &h.keeper
	if h.over {
		return
	}
	if v, is := ev.(lnode.Viewed); is {
		k.viewed = &v
	}
	if k.core == nil {
		return
	}
	out := k.core.Step(h.p.Now(), ev)
	for _, e := range out { // before what was asked is answered
		if f, is := e.(lnode.FromReplica); is {
			if e, is := f.Effect.(ledger.TenureEnded); is && k.tenure != nil && k.tenure.epoch == e.Epoch {
				k.tenure.finish()
			}
		}
	}
	for _, e := range out {
		if h.over {
			return
		}
		h.do(e)
	}
	k.stepped = h.p.Now()
}

func (k *keeper) due() (time.Duration, bool) {
	if k.core == nil {
		return 0, false
	}
	at, ok := k.core.Due()
	return max(at, k.stepped+ms), ok
}

// tell has this instance of the keeper take an event later.
func (h *host) tell(ev lnode.Event) {
	life := h.keeper.life
	h.post(func() {
		if life == h.keeper.life {
			h.ledger(ev)
		} else {
			h.late(ev)
		}
	})
}

// late takes what an instance before this one has asked for.
func (h *host) late(ev lnode.Event) {
	if f, ok := ev.(lnode.ForReplica); ok {
		if s, ok := f.Event.(ledger.SnapshotArrived); ok {
			_ = h.keeper.disk.Abandon(s.Stream) // a poisoned disk fails
		}
	}
}

func (h *host) do(e lnode.Effect) {
	k := &h.keeper
	switch e := e.(type) {
	case lnode.Say:
		h.Post(h.p, e.To, e.Hello)
	case lnode.Post:
		h.Post(h.p, e.Address, &messages.LedgerLetter{Address: h.p.Name(), From: e.From, To: e.To, Data: e.Data})
	case lnode.SendSnapshot:
		h.snapshot(e)
	case lnode.FromReplica:
		h.fromReplica(e.Effect)
	case lnode.Create:
		h.Met("ledger created")
		h.bind(e.Ledger, true)
	case lnode.Adopt:
		h.bind(e.Ledger, false)
	case lnode.Remember:
		h.good(k.disk.Remember(e.Addresses))
	case lnode.Serves:
		h.serve(e.Epoch)
	case lnode.Remains:
		k.remains = e
	case lnode.Keeps:
		h.Met("leaving node keeps its replica")
		h.Owes(h.p)
	case lnode.Replaced:
		h.Met("ledger replica replaced")
		h.tracef("replicas %x, new %x, gone %x", e.Voters, e.Added, e.Removed)
	case lnode.Met:
		h.Fail("(ledger) %s has met another ledger at %s", h.p.Name(), e.Address)
	case lnode.ReadRecord:
		h.readRecord(e.Epoch)
	case lnode.Record:
		h.record(e)
	case lnode.Begin:
		h.Met("a node begins the cluster anew")
		h.p.Begin(e.Restarts)
	case lnode.Enter:
		h.p.Enter(e.Address)
	case lnode.WantLease:
		h.p.Want()
	case lnode.Outdated:
		h.good(k.disk.SawGeneration(e.Generation))
	case lnode.Halted:
		h.tracef("its replica has ended: %v", e.Err)
		k.halted = true
		h.endTenure()
		h.check.halted(h, e.Err)
	}
}

// good ends the run if a disk that works fails.
func (h *host) good(err error) {
	if err != nil && !h.machine.failed {
		h.Fail("the disk of %s: %v", h.p.Name(), err)
	}
}

func (h *host) fromReplica(e ledger.Effect) {
	k := &h.keeper
	switch e := e.(type) {
	case ledger.Persist:
		number := e.Write.Number
		k.disk.Apply(e.Write, func(err error) {
			if err != nil {
				h.tell(lnode.ForReplica{Event: ledger.WriteFailed{}})
			} else {
				h.tell(lnode.ForReplica{Event: ledger.Written{Number: number}})
			}
		})
	case ledger.TenureBegan:
		h.beginTenure(e.Epoch)
	case ledger.Done:
		h.appended(e.Epoch, e.Number, good)
	case ledger.Refused:
		h.refused(e)
	case ledger.Readable:
		h.readable(e.ID, true)
	case ledger.NotReadable:
		h.readable(e.ID, false)
	case ledger.DropStream:
		_ = k.disk.Abandon(e.Stream) // a poisoned disk fails
	case ledger.Reject:
		h.Met("message of a replica refused")
	}
}

// bind begins a replica in the folder, and binds the folder to the ledger. With create it is the first one of a new ledger.
func (h *host) bind(id uint64, create bool) {
	d := h.keeper.disk
	join := func(err error) {
		if err == nil {
			err = d.Join(clusterOf(id))
		}
		var state ledger.State
		if err == nil {
			state, err = d.State()
		}
		if err != nil {
			h.tell(lnode.Failed{Err: err})
			return
		}
		h.tell(lnode.Opened{Ledger: id, State: state})
	}
	h.soon(func() {
		replica, err := d.Begin()
		if err == nil && create {
			d.Apply(ledger.Create(replica), join)
			return
		}
		h.soon(func() { join(err) })
	})
}

func (h *host) readRecord(epoch uint64) {
	h.soon(func() {
		value, found, err := h.keeper.disk.Get(recordKey)
		var r ledger.Record
		if err == nil && found {
			r, err = messages.UnmarshalLedgerRecord(value)
		}
		if err != nil { // the node begins no cluster
			h.good(err)
			return
		}
		h.tell(lnode.Recorded{Epoch: epoch, Record: r})
	})
}

// record appends the row, in the tenure of which the core says so.
func (h *host) record(e lnode.Record) {
	t := h.keeper.tenure
	if t == nil || t.epoch != e.Epoch {
		return // the core hears of its end
	}
	t.ask(&asked{rows: []ledger.Row{{Key: recordKey, Value: messages.MarshalLedgerRecord(e.Record)}}, done: func(r reply) {
		h.tell(lnode.Recorded{Epoch: e.Epoch, Record: e.Record, Failed: r != good})
	}})
}

// crashKeeper has the keeper's actor begin anew.
func (h *host) crashKeeper() {
	h.endTenure()
	h.keeper.core = nil
	h.load()
}

// panics has the controller end, or else the keeper.
func (h *host) panics() {
	if c := h.keeper.controller; c != nil && h.R.IntN(2) == 0 {
		c.ends(true)
		return
	}
	h.crashKeeper()
}

func ledgerOf(cluster string) uint64 {
	id, _ := strconv.ParseUint(cluster, 16, 64) // "": none
	return id
}
