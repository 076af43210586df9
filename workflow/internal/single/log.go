// Package single is a durable.Log on one disk: the ledger's group of one replica. It exists until the host of
// replicated groups takes its place.
//
// One goroutine owns the replica's core. What is asked of a tenure, and what the disk has written, comes to it as
// events.
package single

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Log is the ledger on a disk. It owns the disk from New on, but for Blobs.
type Log struct {
	disk  durable.Store
	start time.Time
	id    uint64
}

var _ durable.Log = (*Log)(nil)

// New returns the Log on a disk. On an empty disk it begins a new ledger.
func New(disk durable.Store) (*Log, error) {
	s, err := disk.State()
	if err != nil {
		return nil, err
	}
	if s.Replica == 0 {
		id, err := disk.Begin()
		if err != nil {
			return nil, err
		}
		done := make(chan error, 1)
		disk.Apply(ledger.Create(id), func(err error) { done <- err })
		if err := <-done; err != nil {
			return nil, err
		}
	}
	return &Log{disk: disk, start: time.Now(), id: disk.Identity().Disk}, nil
}

// ID names the ledger: it is never that of another one.
func (l *Log) ID() uint64 { return l.id }

// Run implements durable.Log. If on returns before its tenure is over, it gives the tenure up, and a new one
// begins.
func (l *Log) Run(ctx context.Context, on func(durable.Tenure)) error {
	for ctx.Err() == nil {
		if err := l.host(ctx, on); err != nil {
			return err
		}
	}
	return nil
}

// host runs a core until its tenure is given up.
func (l *Log) host(ctx context.Context, on func(durable.Tenure)) error {
	s, err := l.disk.State()
	if err != nil {
		return err
	}
	var run [8]byte
	_, _ = rand.Read(run[:]) // it never fails
	core, err := ledger.New(ledger.Config{Ledger: l.id, Opened: l.disk.Identity().Opens, Run: binary.BigEndian.Uint64(run[:])}, s)
	if err != nil {
		return err
	}
	h := &host{log: l, core: core, events: newQueue(), on: on}
	defer h.wait.Wait()
	return h.loop(ctx)
}

// host is one core with what waits for it.
type host struct {
	log    *Log
	core   *ledger.Core
	on     func(durable.Tenure)
	events *queue
	wait   sync.WaitGroup

	tenure *tenure
	halted error
	busy   int // writes of the disk
	reads  map[uint64]func(error)
	read   uint64
	stops  bool // the tenure was given up, or ctx has ended
}

type (
	written struct {
		number uint64
		err    error
	}
	appending struct {
		t    *tenure
		rows []ledger.Row
		done func(error)
	}
	confirming struct {
		t    *tenure
		done func(error)
	}
	givenUp struct{ t *tenure }
)

func (h *host) loop(ctx context.Context) error {
	h.reads = map[uint64]func(error){}
	timer := time.NewTimer(0)
	defer timer.Stop()
	done := ctx.Done()
	for {
		h.step(ledger.Tick{})
		if (h.stops || h.halted != nil) && h.busy == 0 {
			h.endTenure()
			for _, ev := range h.events.take(true) {
				h.take(ev)
			}
			return h.halted
		}
		at, ok := h.core.Due()
		if ok {
			timer.Reset(at - h.now())
		}
		select {
		case <-timer.C:
		case <-done:
			done = nil
			h.stops = true
			h.endTenure()
		case <-h.events.wake:
			for _, ev := range h.events.take(false) { // what has come together is written together
				h.take(ev)
			}
		}
	}
}

func (h *host) now() time.Duration { return time.Since(h.log.start) }

func (h *host) take(ev any) {
	switch ev := ev.(type) {
	case written:
		h.busy--
		if ev.err != nil {
			h.step(ledger.WriteFailed{})
			h.halted = fmt.Errorf("the disk of the ledger: %w", ev.err)
			return
		}
		h.step(ledger.Written{Number: ev.number})
	case appending:
		if ev.t != h.tenure || h.stops {
			ev.done(durable.ErrFenced)
			return
		}
		ev.t.next++
		ev.t.appends[ev.t.next] = ev.done
		h.step(ledger.Append{Epoch: ev.t.epoch, Number: ev.t.next, Rows: ev.rows})
	case confirming:
		if ev.t != h.tenure || h.stops {
			ev.done(durable.ErrFenced)
			return
		}
		h.read++
		h.reads[h.read] = ev.done
		h.step(ledger.Read{ID: h.read})
	case givenUp:
		if ev.t == h.tenure {
			h.stops = true
			h.endTenure()
		}
	}
}

func (h *host) step(ev ledger.Event) {
	for _, e := range h.core.Step(h.now(), ev) {
		switch e := e.(type) {
		case ledger.Persist:
			h.busy++
			number := e.Write.Number
			h.log.disk.Apply(e.Write, func(err error) { h.events.add(written{number, err}) })
		case ledger.TenureBegan:
			h.began(e.Epoch)
		case ledger.TenureEnded:
			h.endTenure()
		case ledger.Done:
			h.done(e.Epoch, e.Number, nil)
		case ledger.Refused:
			h.refused(e)
		case ledger.Readable:
			h.readable(e.ID, nil)
		case ledger.NotReadable:
			h.readable(e.ID, durable.ErrFenced)
		case ledger.Stalled:
			if h.tenure != nil {
				h.tenure.stalled.Store(e.On)
			}
		case ledger.Halted:
			h.halted = errors.Join(h.halted, e.Err)
		}
	}
}

func (h *host) began(epoch uint64) {
	if h.stops {
		return
	}
	t := &tenure{h: h, epoch: epoch, appends: map[uint64]func(error){}, ended: make(chan struct{})}
	h.tenure = t
	h.wait.Go(func() {
		h.on(t)
		h.events.add(givenUp{t})
	})
}

// endTenure says that the tenure is over. What waits is answered by the core, or fails.
func (h *host) endTenure() {
	t := h.tenure
	if t == nil {
		return
	}
	h.tenure = nil
	close(t.ended)
	for n := t.first + 1; n <= t.next; n++ {
		if done := t.appends[n]; done != nil {
			delete(t.appends, n)
			done(durable.ErrFenced)
		}
	}
	for n := range h.reads {
		h.readable(n, durable.ErrFenced)
	}
}

func (h *host) done(epoch, number uint64, err error) {
	t := h.tenure
	if t == nil || t.epoch != epoch {
		return
	}
	done := t.appends[number]
	delete(t.appends, number)
	t.first = number
	if done != nil {
		done(err)
	}
}

func (h *host) refused(e ledger.Refused) {
	t := h.tenure
	if t == nil || t.epoch != e.Epoch {
		return
	}
	if e.Reason == ledger.Fenced {
		h.endTenure()
		return
	}
	err := fmt.Errorf("%w: %v", durable.ErrInvalid, e.Reason)
	if e.Reason == ledger.Busy {
		err = durable.ErrBusy
	}
	done := t.appends[e.Number]
	delete(t.appends, e.Number)
	t.next = e.Number - 1 // its number is used again
	done(err)
}

func (h *host) readable(id uint64, err error) {
	if done := h.reads[id]; done != nil {
		delete(h.reads, id)
		done(err)
	}
}
