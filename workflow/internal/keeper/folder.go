package keeper

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// folder is what a node's folder holds as an instance begins.
type folder struct {
	identity  durable.Identity
	ledger    uint64
	addresses []string
	state     core.State
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) | 1
}

// load reads the disk, once it has answered what it was given.
func (a *instance) load() {
	life, to, self, store := a.life, a.node.System().Root, a.self, a.k.settings.Store
	if store == nil {
		to.Send(self, loaded{life: life})
		return
	}
	answered := make(chan struct{})
	store.Snapshot(func(s durable.Snapshot, _ error) { // its answer stands behind all others, even an error
		close(answered)
		if s != nil {
			a.k.beside("close a snapshot", func() { _ = s.Close() }) // else the store closes it
		}
	})
	a.k.beside("have its state read", func() {
		if f, err := a.k.read(answered); a.k.ctx.Err() == nil {
			to.Send(self, loaded{life: life, folder: f, err: err})
		}
	})
}

// read reads what the folder holds once the disk has answered. The error is ErrClosed if the actor has ended meanwhile.
func (k *Keeper) read(answered <-chan struct{}) (f folder, err error) {
	store := k.settings.Store
	f = folder{identity: store.Identity(), addresses: store.Remembered()}
	type answer struct {
		state core.State
		err   error
	}
	read := make(chan answer, 1)
	k.beside("read its state", func() {
		select {
		case <-answered:
			state, err := store.State()
			read <- answer{state, err}
		case <-k.ctx.Done():
		}
	})
	timer := time.NewTimer(diskWait)
	defer timer.Stop()
	select {
	case a := <-read:
		if f.ledger, err = ledgerOf(f.identity.Cluster); err == nil {
			f.state, err = a.state, a.err
		}
		return f, err
	case <-timer.C:
		return f, silent("read")
	case <-k.ctx.Done():
		return f, durable.ErrClosed
	}
}

// loaded begins with what the disk holds.
func (a *instance) loaded(c actor.Context, m loaded) {
	if m.life != a.life {
		return
	}
	s := a.k.settings
	cfg := s.Times
	cfg.Name, cfg.Address, cfg.Host, cfg.Temporary, cfg.Run = a.node.ID().Name(), a.node.ControlAddr(), s.Host, s.Temporary, a.k.run
	if s.Store != nil { // else it has nothing to look for before it is a member
		cfg.Seeds = a.node.Seeds()
		cfg.Addresses = slices.Concat(m.addresses, cfg.Seeds)
	}
	cfg.Disk, cfg.Ledger, cfg.Opened = m.identity.Disk, m.ledger, m.identity.Opens
	if s.Store != nil {
		cfg.Generation = s.Store.Generation()
	}
	made, err := ledger.New(cfg)
	if err != nil {
		panic(err) // the settings, which New has not checked
	}
	a.core = made
	if m.err != nil {
		a.step(c, ledger.Failed{Err: m.err})
	} else if cfg.Ledger != 0 && m.state.Replica != 0 {
		a.step(c, ledger.Opened{Ledger: m.ledger, State: m.state})
	} else if cfg.Ledger != 0 {
		a.begin(cfg.Ledger, false) // the process ended between the two
	}
	early := a.early
	a.early = nil
	for _, ev := range early {
		a.step(c, ev)
	}
	a.step(c, ledger.Tick{})
	if cfg.Disk != 0 {
		a.watch()
	}
}

// watch has the replica end when the disk fails.
func (a *instance) watch() {
	store := a.k.settings.Store
	a.k.beside("watch for failures", func() {
		select {
		case <-store.Failed():
			a.tell(ledger.ForReplica{Event: core.WriteFailed{}})
		case <-a.k.ctx.Done():
		}
	})
}

// begin begins a replica in the folder, and binds the folder to the ledger. With create it is the first one of a
// new ledger, and its first write is durable before the folder is bound: a process that ends between leaves a
// folder that counts as empty.
func (a *instance) begin(id uint64, create bool) {
	store := a.k.settings.Store
	a.k.beside("begin a replica", func() {
		replica, err := store.Begin()
		if err == nil && create {
			err = a.apply(core.Create(replica))
		}
		if err == nil {
			err = store.Join(clusterOf(id))
		}
		var state core.State
		if err == nil {
			state, err = store.State()
		}
		if err != nil {
			a.tell(ledger.Failed{Err: err})
			return
		}
		a.tell(ledger.Opened{Ledger: id, State: state})
	})
}

// diskWait is how long a replica that begins waits for the disk.
const diskWait = time.Minute

func silent(what string) error {
	return fmt.Errorf("the disk of the folder has not answered for %v when asked to %s: restart the node once it works, or with another folder", diskWait, what)
}

// apply waits until the disk has carried out a Write.
func (a *instance) apply(w core.Write) error {
	done := make(chan error, 1)
	a.k.settings.Store.Apply(w, func(err error) { done <- err })
	timer := time.NewTimer(diskWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return silent("write")
	case <-a.k.ctx.Done():
		return durable.ErrClosed
	}
}

// persist gives the disk a Write of the replica.
func (a *instance) persist(w core.Write) {
	number := w.Number
	a.k.settings.Store.Apply(w, func(err error) {
		if err != nil {
			a.tell(ledger.ForReplica{Event: core.WriteFailed{}})
		} else {
			a.tell(ledger.ForReplica{Event: core.Written{Number: number}})
		}
	})
}

// rememberAll has the folder remember addresses, the last ones if some come while it does so.
func (a *instance) rememberAll(addresses []string) {
	if a.remembers {
		a.remember = addresses
		return
	}
	a.remembers = true
	life := a.life
	a.k.beside("remember addresses", func() {
		err := a.k.settings.Store.Remember(addresses)
		a.node.System().Root.Send(a.self, remembered{life, err})
	})
}

func (a *instance) remembered(_ actor.Context, m remembered) {
	if m.life != a.life {
		return
	}
	a.remembers = false
	if m.err != nil && !a.halted {
		a.node.Log().WithError(m.err).Warn("the folder does not remember where the other members are: after a restart of all nodes it needs the seeds")
	}
	if next := a.remember; next != nil {
		a.remember = nil
		a.rememberAll(next)
	}
}

// sawGeneration has the folder remember that the ledger goes on without its replica.
func (a *instance) sawGeneration(n uint64) {
	a.k.beside("remember that the ledger was recovered", func() {
		if err := a.k.settings.Store.SawGeneration(n); err != nil {
			a.node.Log().WithError(err).Warn("the folder does not remember that the ledger was recovered without it: do not start it together with others that the ledger goes on without")
		}
	})
}

// replicaEnded tells, once, that the replica has ended, and what to do.
func (a *instance) replicaEnded(err error) {
	if a.halted {
		return
	}
	a.halted = true
	a.endTenure()
	replica := "of no number"
	if s := a.k.settings.Store; s != nil {
		replica = actors.ReplicaName(s.Identity().Disk << 16)
		if cause := s.Err(); cause != nil {
			err = errors.Join(err, cause)
		}
	}
	halted := actors.ReplicaHalted{Replica: replica, Cause: err.Error()}
	a.node.Log().Error(halted.String())
	a.publish(halted)
}

// late takes what an instance before this one has asked for.
func (a *instance) late(ev ledger.Event) {
	if f, ok := ev.(ledger.ForReplica); ok {
		if s, ok := f.Event.(core.SnapshotArrived); ok {
			a.drop(s.Stream)
		}
	}
}

// drop deletes the rows of a snapshot.
func (a *instance) drop(stream uint64) {
	store, log := a.k.settings.Store, a.node.Log()
	a.k.beside("delete the rows of a snapshot", func() {
		if err := store.Abandon(stream); err != nil {
			log.WithError(err).Debug("the rows of a snapshot cannot be deleted")
		}
	})
}
