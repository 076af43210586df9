package directory

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// anything is a generation that is after all others.
var anything = phalanx.Generation{Epoch: math.MaxUint64}

// pair is an owner and its backup.
type pair struct {
	now           time.Duration
	owner, backup *Shard
	num           uint64
}

func newPair() *pair {
	p := &pair{owner: New(Config{Self: "a", InlineLimit: 1 << 16}), backup: New(Config{Self: "b", InlineLimit: 1 << 16})}
	view := Configure{Epoch: 1, Owner: "a", Backup: "b", Members: []phalanx.NodeID{"a", "b"}}
	p.step(p.backup, view)
	p.step(p.backup, Lease{Until: 1 << 60})
	p.step(p.owner, view)
	p.step(p.owner, Lease{Until: 1 << 60})
	for _, n := range view.Members {
		p.step(p.owner, Holdings{From: n, Epoch: 1, Round: 1, End: true})
	}
	return p
}

// step brings what one replica sends to the other, and returns its replies. Orders to
// drop a copy are acknowledged.
func (p *pair) step(s *Shard, ev Event) (replies []Reply) {
	for _, e := range s.Step(p.now, ev) {
		switch e := e.(type) {
		case SendReplicate:
			replies = append(replies, p.step(p.backup, e.Replicate)...)
		case SendConfirm:
			replies = append(replies, p.step(p.owner, e.Confirm)...)
		case Push:
			replies = append(replies, p.step(s, PushAcked{From: e.To, Object: e.Object, Seq: e.Seq})...)
		case Reply:
			replies = append(replies, e)
		}
	}
	return replies
}

func (p *pair) ask(id phalanx.ObjectID, body Body) Result {
	p.num++
	replies := p.step(p.owner, Request{From: "a", Num: p.num, Object: id, Body: body})
	if len(replies) == 0 {
		return Result{Waiting: true}
	}
	return replies[len(replies)-1].Result
}

// putAndDelete makes a large object, and deletes it.
func (p *pair) putAndDelete(id phalanx.ObjectID) Result {
	meta := phalanx.Meta{Size: 1 << 20}
	gen := p.ask(id, Begin{Meta: meta}).Gen
	p.ask(id, Announce{Gen: gen, Origin: true, Begun: true})
	p.ask(id, Final{Gen: gen, Meta: meta, Held: true})
	return p.ask(id, Delete{Gen: gen})
}

// A tombstone is remembered as an object is: for requests, in what a new replica
// gets, by the next owner, and until its time has come.
func TestTombstone(t *testing.T) {
	p := newPair()
	gen := p.putAndDelete("x").Gen
	resting := func(what string, s *Shard) {
		t.Helper()
		if _, rests := s.tombstones["x"]; !rests || len(s.objects) > 0 {
			t.Errorf("%s: %d objects, %d tombstones", what, len(s.objects), len(s.tombstones))
		}
		if pic, ok := s.Inspect("x"); !ok || pic.State != Deleted || pic.Record.Gen != gen || !slices.Equal(s.Objects(), []phalanx.ObjectID{"x"}) {
			t.Errorf("%s: %+v", what, pic)
		}
		if s.Memory() != tombstoneCost || s.weigh() != tombstoneCost {
			t.Errorf("%s: %d bytes", what, s.Memory())
		}
	}
	resting("owner", p.owner)
	resting("backup", p.backup)
	for range 100 { // requests wake it, and each time it rests again
		for _, body := range []Body{Delete{}, Delete{Gen: gen}, Locate{Wait: true}, Begin{}, Drop{Gen: gen}, Announce{Gen: gen, Complete: true}, Stat{}} {
			if r := p.ask("x", body); r.Waiting || r.State != Deleted && r.Kind != phalanx.ErrDeleted && r.Kind != 0 {
				t.Errorf("%T: %+v", body, r)
			}
		}
		p.now += 2 * endedLife
		p.step(p.owner, Tick{})
		resting("asked", p.owner)
		if p.now >= tombstoneLife/2 {
			break
		}
	}
	if n := len(p.owner.agenda); n > 3 {
		t.Errorf("%d appointments of one tombstone", n)
	}

	next := New(Config{Self: "c"})
	view := Configure{Epoch: 2, Owner: "b", Next: "c", Backup: "a", Members: []phalanx.NodeID{"a", "b", "c"}}
	p.step(next, view)
	p.step(next, Lease{Until: 1 << 60})
	p.step(p.owner, view)
	resting("former owner", p.owner)
	for _, e := range p.backup.Step(p.now, view) {
		if r, ok := e.(SendReplicate); ok && r.To == "c" {
			next.Step(p.now, r.Replicate)
		}
	}
	resting("new owner", p.backup)
	resting("next", next)
	p.backup.view.Members, p.backup.view.Backup = nil, "" // alone
	p.step(p.backup, Lease{Until: 1 << 60})
	p.now = 2 * tombstoneLife
	p.backup.sure = true
	p.backup.Step(p.now, Tick{})
	if ids := p.backup.Objects(); len(ids) > 0 || p.backup.Memory() != 0 {
		t.Errorf("left are %v, %d bytes", ids, p.backup.Memory())
	}
}

// A binding that was released after a Delete rests as a tombstone does.
func TestTombstoneOfAReleasedBinding(t *testing.T) {
	p := newPair()
	deleted := p.putAndDelete("x").Gen
	released := p.ask("x", Begin{Meta: phalanx.Meta{Size: 1 << 20}, After: deleted}).Gen
	p.ask("x", Abort{Gen: released})
	p.now += 2 * endedLife
	p.step(p.owner, Tick{})
	for range 2 { // as it rests, and woken
		for name, s := range map[string]*Shard{"owner": p.owner, "backup": p.backup} {
			pic, _ := s.Inspect("x")
			if rec := pic.Record; pic.State != Unbound || rec.State != Deleted || rec.Gen != released || rec.After != deleted || rec.Released != released {
				t.Errorf("%s: %+v", name, pic)
			}
			if _, rests := s.tombstones["x"]; !rests {
				t.Errorf("%s: it does not rest", name)
			}
		}
		if r := p.ask("x", Begin{After: deleted}); r.Kind != phalanx.ErrDeleted || r.Gen != released || r.Deleted != deleted {
			t.Errorf("a late Begin: %+v", r)
		}
		if r := p.ask("x", Locate{}); r.Kind != phalanx.ErrNotFound {
			t.Errorf("a Get that does not wait: %+v", r)
		}
		p.now += 2 * endedLife
		p.step(p.owner, Tick{})
	}
}

// BenchmarkTombstone tells what a deleted object costs an owner and its backup, for
// tombstoneCost.
func BenchmarkTombstone(b *testing.B) {
	p := newPair()
	before := inUse()
	for i := range b.N {
		p.putAndDelete(phalanx.ObjectID(fmt.Sprintf("object/%08d", i)))
	}
	b.ReportMetric(float64(inUse()-before)/float64(b.N)/2, "bytes/tombstone")
	runtime.KeepAlive(p)
}
