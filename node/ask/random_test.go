package ask

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// asked is the test's record of a request.
type asked struct {
	object    phalanx.ObjectID
	body      directory.Body
	forgot    bool
	final     int
	watch     bool
	impatient bool
}

// The network loses, repeats and delays, and owners change: each request has one answer unless
// its caller forgets it, reports about one object follow each other, a caller that has gone away
// hears nothing, and when all has been answered nothing is left and nothing is due.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		random(t, rand.New(rand.NewPCG(seed, 3)), seed)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func random(t *testing.T, r *rand.Rand, seed uint64) {
	a := newAsking(t)
	epoch, owner, calm := uint64(1), phalanx.NodeID("a"), false
	all := map[uint64]*asked{}
	var num uint64
	var wire []Event // on its way to the node
	objects := []phalanx.ObjectID{"x", "y"}
	var carry func(out []Effect)
	reply := func(s Send, q directory.Request) {
		res := directory.Result{State: directory.Begun}
		switch {
		case s.To != owner:
			res = directory.Result{NotOwner: true}
		case !calm && r.IntN(3) == 0:
			res = directory.Result{Waiting: true}
		}
		if q.Body == (directory.Watch{}) {
			wire = append(wire, Told{s.To, directory.Readiness{To: "me", Num: q.Num, Object: q.Object, Version: epoch<<32 + r.Uint64N(5) + 1}})
			return
		}
		wire = append(wire, Replied{s.To, directory.Reply{To: "me", Num: q.Num, Object: q.Object, Epoch: epoch, Result: res}})
	}
	carry = func(out []Effect) {
		// The core sends the next report before the caller hears the answer to the one before.
		slices.SortStableFunc(out, func(x, y Effect) int {
			_, first := x.(Answer)
			_, second := y.(Answer)
			return cmp.Compare(btoi(second), btoi(first))
		})
		for _, e := range out {
			switch e := e.(type) {
			case Send:
				q, ok := e.What.(directory.Request)
				if !ok {
					continue
				}
				if IsReport(q.Body) {
					for other, o := range all {
						if other < q.Num && o.object == q.Object && IsReport(o.body) && !o.forgot && o.final == 0 && !sameReport(o.body, q.Body) {
							t.Fatalf("seed %d: report %d is sent beside %d", seed, q.Num, other)
						}
					}
				}
				if calm || r.IntN(3) > 0 {
					reply(e, q)
				}
				if !calm && r.IntN(5) == 0 {
					reply(e, q)
				}
			case Answer:
				k := all[e.By.(uint64)]
				if k.forgot || k.final > 0 || k.watch {
					t.Fatalf("seed %d: %v answers %+v", seed, e, k)
				}
				if !e.Result.Waiting {
					k.final++
				}
			case Ready:
				if k := all[e.By.(uint64)]; k.forgot || !k.watch {
					t.Fatalf("seed %d: %v is ready for %+v", seed, e, k)
				}
			case Silent:
				if k := all[e.By.(uint64)]; k.forgot || k.final > 0 || !k.impatient {
					t.Fatalf("seed %d: %+v hears %v", seed, k, e)
				}
			}
		}
	}
	deliver := func() {
		i := r.IntN(len(wire))
		ev := wire[i]
		if calm || r.IntN(8) > 0 { // else it comes again
			wire = append(wire[:i], wire[i+1:]...)
		}
		carry(a.step(ev))
	}
	bodies := []directory.Body{directory.Locate{Wait: true}, directory.Stat{}, directory.Announce{}, directory.Drop{}, directory.Drop{}, directory.Watch{}}
	for range 200 {
		switch k := r.IntN(10); {
		case k < 3:
			num++
			q := &asked{object: objects[r.IntN(2)], body: bodies[r.IntN(len(bodies))]}
			_, q.watch = q.body.(directory.Watch)
			all[num] = q
			carry(a.step(Ask{Num: num, Object: q.object, Body: q.body, By: num}))
			if !IsReport(q.body) && r.IntN(2) == 0 { // a caller that has joined a report has no number of its own
				q.impatient = true
				carry(a.step(Impatient{Num: num, By: num}))
			}
		case k == 3 && num > 0:
			if n := r.Uint64N(num) + 1; !IsReport(all[n].body) && all[n].final == 0 {
				all[n].forgot = true
				carry(a.step(Forget{n}))
			}
		case k == 4 && r.IntN(3) == 0:
			epoch++
			owner = []phalanx.NodeID{"a", "b"}[r.IntN(2)]
			carry(a.step(Learn{owned(epoch, owner)}))
		case k < 8 && len(wire) > 0:
			deliver()
		default:
			a.now += time.Duration(r.Int64N(int64(time.Second)))
			if at, ok := a.c.Due(); ok && at <= a.now {
				carry(a.step(Tick{}))
			}
		}
	}
	calm = true
	for n := range num {
		if k := all[n+1]; k.watch && !k.forgot {
			k.forgot = true
			carry(a.step(Forget{n + 1}))
		}
	}
	for range 10_000 {
		for len(wire) > 0 {
			deliver()
		}
		at, ok := a.c.Due()
		if !ok {
			break
		}
		a.now = max(at, a.now)
		carry(a.step(Tick{}))
	}
	for n, k := range all {
		if k.final == 0 && !k.forgot {
			t.Errorf("seed %d: request %d %T has no answer", seed, n, k.body)
		}
	}
	if at, ok := a.c.Due(); ok || len(a.c.pending)+len(a.c.reports.lines)+a.c.agenda.Len() > 0 {
		t.Errorf("seed %d: %v is left, due at %v %v", seed, a.c.pending, at, ok)
	}
}
