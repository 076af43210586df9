package store

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// breakGrace is how long a sender waits for its receiver to come back, or to
	// report for itself, before it reports that a connection has broken: closing
	// one is how a receiver ends a stream, too.
	breakGrace = 300 * time.Millisecond
	// paceFrom is how many bytes a transfer has at least whose speed counts.
	paceFrom = 1 << 20
)

// outgoing is what a node knows of the copies that it sends: the leases under
// which it does, and how fast they are (specification 2.10, 2.13).
type outgoing struct {
	mu      sync.Mutex
	leases  map[leaseKey]*using
	pace    *pace.Pace // made with the first stream
	running bool       // somebody looks at the pace
}

// leaseKey names a lease. Its number is unique only in one epoch of one shard: two
// objects can be sent under leases of the same number.
type leaseKey struct {
	object phalanx.ObjectID
	lease  uint64
}

// using is a lease that a receiver reads under.
type using struct {
	streams int // that run, and those that broke and may come back
	begun   int
}

// outflow is one stream to a receiver.
type outflow struct {
	pace.Flow
	lease  uint64
	object phalanx.ObjectID
	meter  dataplane.Meter
}

// begin notes a stream.
func (o *outgoing) begin(e *Env, to phalanx.NodeID, c *objectCopy, req dataplane.Request) *outflow {
	f := &outflow{Flow: pace.Flow{To: to}, lease: req.Lease, object: c.Object}
	f.By = f
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pace == nil {
		o.pace = pace.New(pace.Default)
	}
	if req.Lease != 0 {
		u := o.leases[f.key()]
		if u == nil {
			u = &using{}
			if o.leases == nil {
				o.leases = map[leaseKey]*using{}
			}
			o.leases[f.key()] = u
		}
		u.streams++
		u.begun++
	}
	if size := c.bytes(); size != phalanx.UnknownSize && size-req.Offset < paceFrom {
		return f
	}
	o.pace.Add(&f.Flow, e.Now(), f.look())
	if !o.running && e.alive().ctx.Err() == nil {
		o.running = true
		go e.watchPace()
	}
	return f
}

// end notes that a stream is over. If its connection broke and its receiver does
// not come back, the lease is reported.
func (o *outgoing) end(e *Env, f *outflow, broken bool) {
	o.mu.Lock()
	o.pace.Remove(&f.Flow, e.Now(), f.look())
	u := o.leases[f.key()]
	if u == nil {
		o.mu.Unlock()
		return
	}
	begun := u.begun
	if !broken || e.alive().ctx.Err() != nil {
		o.release(f.key())
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	time.AfterFunc(breakGrace, func() {
		o.mu.Lock()
		back := u.begun != begun
		o.release(f.key())
		o.mu.Unlock()
		if !back && e.alive().ctx.Err() == nil {
			e.report(f.object, directory.Failed{Lease: f.lease, Reason: "the connection to its receiver broke"})
		}
	})
}

// release ends one stream under a lease. Called with mu held.
func (o *outgoing) release(lease leaseKey) {
	if u := o.leases[lease]; u != nil {
		if u.streams--; u.streams == 0 {
			delete(o.leases, lease)
		}
	}
}

func (f *outflow) key() leaseKey { return leaseKey{f.object, f.lease} }

func (f *outflow) look() pace.Sample {
	waits, now := f.meter.Waits()
	return pace.Sample{Sent: f.meter.Sent(), Waits: waits, Waiting: now}
}

// watchPace looks at the streams that run until there are none, and reports the
// leases of receivers that are slow.
func (e *Env) watchPace() {
	o := &e.outgoing
	t := time.NewTicker(pace.Default.Every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-e.leaving():
		}
		o.mu.Lock()
		if o.pace.Idle() || e.alive().ctx.Err() != nil {
			o.running = false
			o.mu.Unlock()
			return
		}
		slow := o.pace.Observe(e.Now(), func(f *pace.Flow) pace.Sample { return f.By.(*outflow).look() })
		o.mu.Unlock()
		for _, s := range slow {
			f := s.By.(*outflow)
			e.Log.WithField("object", f.object).WithField("peer", f.To).Debug("a receiver is slow")
			e.report(f.object, directory.Slow{Lease: f.lease})
		}
	}
}
