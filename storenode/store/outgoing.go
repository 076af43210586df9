package store

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// outgoing has the streams of copies that a node sends: their leases, and their pace
// (specification 2.10, 2.13).
type outgoing struct {
	mu      sync.Mutex
	leases  pace.Leases
	pace    *pace.Pace // made with the first stream
	running bool       // watchPace runs
}

// outflow is one stream to a receiver.
type outflow struct {
	pace.Flow
	meter dataplane.Meter
}

// begin notes a stream.
func (o *outgoing) begin(e *Env, to phalanx.NodeID, c *objectCopy, req dataplane.Request) *outflow {
	f := &outflow{Flow: pace.Flow{To: to, Lease: pace.Lease{Object: c.Object, Num: req.Lease}}}
	f.By = f
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pace == nil {
		o.pace, o.leases = pace.New(pace.Default), pace.Leases{}
	}
	o.leases.Begin(&f.Flow)
	left := c.length()
	if left != phalanx.UnknownSize {
		left -= req.Offset
	}
	o.pace.Add(&f.Flow, left, e.Now(), f.look())
	if !o.running && !o.pace.Idle() && !e.isClosing() {
		o.running = true
		go e.watchPace()
	}
	return f
}

// end notes that a stream is over. If its connection broke and its receiver does not come
// back, the node reports the lease.
func (o *outgoing) end(e *Env, f *outflow, broken bool) {
	o.mu.Lock()
	o.pace.Remove(&f.Flow, e.Now(), f.look())
	if !broken || f.Lease.Num == 0 || e.isClosing() {
		o.leases.End(&f.Flow)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	time.AfterFunc(pace.Grace, func() {
		o.mu.Lock()
		last := o.leases.End(&f.Flow)
		o.mu.Unlock()
		if last && !e.isClosing() {
			e.report(f.Lease.Object, directory.Failed{Lease: f.Lease.Num, Reason: "the connection to its receiver broke"})
		}
	})
}

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
		case <-e.closing():
		}
		o.mu.Lock()
		if o.pace.Idle() || e.isClosing() {
			o.running = false
			o.mu.Unlock()
			return
		}
		slow := o.pace.Observe(e.Now(), func(f *pace.Flow) pace.Sample { return f.By.(*outflow).look() })
		o.mu.Unlock()
		for _, s := range slow {
			f := s.By.(*outflow)
			e.Log.WithField("object", f.Lease.Object).WithField("peer", f.To).Debug("a receiver is slow")
			e.report(f.Lease.Object, directory.Slow{Lease: f.Lease.Num})
		}
	}
}
