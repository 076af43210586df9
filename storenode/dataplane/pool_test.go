package dataplane

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"unsafe"
)

const mb = 1 << 20

func get(t *testing.T, p *Pool, n int64) *Region {
	t.Helper()
	r := p.TryGet(n)
	if r == nil {
		t.Fatalf("no room for %d bytes, %d of %d used", n, p.budget.Used(), p.budget.Cap())
	}
	return r
}

// Trim drops idle regions until at most keep bytes are left.
func (p *Pool) Trim(keep int64) {
	p.mu.Lock()
	over := p.kept - keep
	p.recent = p.held + min(keep, p.kept)
	p.mu.Unlock()
	if over > 0 {
		p.reclaim(over)
	}
}

func TestPoolReusesTheBestFit(t *testing.T) {
	p := NewPool(NewBudget(64 * mb))
	a, b := get(t, p, 10*mb), get(t, p, 9*mb)
	start := unsafe.SliceData(b.Bytes())
	a.Release()
	b.Release()
	if p.Idle() != 19*mb || p.budget.Used() != 19*mb {
		t.Fatalf("idle %d, used %d", p.Idle(), p.budget.Used())
	}
	c := get(t, p, 8*mb)
	if unsafe.SliceData(c.Bytes()) != start || len(c.Bytes()) != 8*mb {
		t.Fatal("it is not the region that fits best")
	}
	c.Release()
	p.Trim(0)
	if p.budget.Used() != 0 {
		t.Fatalf("used %d", p.budget.Used())
	}
}

func TestOneRegionServesManyAndComesTogetherAgain(t *testing.T) {
	p := NewPool(NewBudget(64 * mb))
	if !p.Warm(20*mb + 4096) {
		t.Fatal("there is no room to warm")
	}
	var parts []*Region
	for _, n := range []int64{8 * mb, 3 * mb, 100_000, 70_000, 4 * mb} {
		r := get(t, p, n)
		if int64(len(r.Bytes())) != n {
			t.Fatalf("%d bytes instead of %d", len(r.Bytes()), n)
		}
		parts = append(parts, r)
	}
	if p.budget.Used() != 20*mb+4096 {
		t.Fatalf("used %d: not all of it came out of the idle region", p.budget.Used())
	}
	for i, r := range parts { // no part overlaps another
		for j := range r.Bytes() {
			r.Bytes()[j] = byte(i)
		}
	}
	for i, r := range parts {
		for j, b := range r.Bytes() {
			if int(b) != i {
				t.Fatalf("byte %d of region %d is %d", j, i, b)
			}
		}
	}
	for _, i := range []int{1, 4, 0, 3, 2} {
		parts[i].Release()
	}
	if p.Idle() != 20*mb+4096 || runtime.GOOS == "linux" && len(p.idle) != 1 {
		t.Fatalf("%d bytes are idle in %d regions", p.Idle(), len(p.idle))
	}
	p.Trim(6*mb + 4096) // whole huge pages go
	if p.Idle() != 6*mb+4096 || p.budget.Used() != 6*mb+4096 {
		t.Fatalf("idle %d, used %d", p.Idle(), p.budget.Used())
	}
	p.Trim(0)
	if p.budget.Used() != 0 {
		t.Fatalf("used %d", p.budget.Used())
	}
}

func TestWarmMemoryIsNotForgotten(t *testing.T) {
	p := NewPool(NewBudget(256 * mb))
	p.Warm(100 * mb)
	for range 60 {
		get(t, p, 2*mb).Release()
	}
	if p.Idle() != 100*mb {
		t.Fatalf("idle %d", p.Idle())
	}
	p.Trim(0)
}

func TestIdleMemoryGivesWay(t *testing.T) {
	p := NewPool(NewBudget(16 * mb))
	get(t, p, 10*mb).Release()
	r := get(t, p, 14*mb)
	if p.Idle() != 0 || p.budget.Peak() > 16*mb {
		t.Fatalf("idle %d, peak %d", p.Idle(), p.budget.Peak())
	}
	r.Release()
	p.Trim(0)
}

func TestReturnedMemoryServesThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(NewBudget(16 * mb))
		held := get(t, p, 12*mb)
		var got *Region
		go func() { got, _ = p.Get(context.Background(), 6*mb) }()
		synctest.Wait()
		if got != nil {
			t.Fatal("more than the cap was handed out")
		}
		held.Release()
		synctest.Wait()
		if got == nil {
			t.Fatal("a returned region did not make room")
		}
		got.Release()
		p.Trim(0)
	})
}

func TestIdleMemoryIsBoundedByWhatWasHeld(t *testing.T) {
	p := NewPool(NewBudget(256 * mb))
	get(t, p, 100*mb).Release()
	for range 60 { // small ones, so that the pool forgets the large one
		get(t, p, 2*mb).Release()
	}
	if p.Idle() > 16*mb {
		t.Fatalf("%d bytes are kept for requests of 2 MB", p.Idle())
	}
	p.Trim(0)
}

func TestSmallMemoryComesFromTheHeap(t *testing.T) {
	p := NewPool(NewBudget(HeapMax))
	r := get(t, p, 1000)
	if r.mapped || p.budget.Used() != 1000 {
		t.Fatalf("mapped %v, used %d", r.mapped, p.budget.Used())
	}
	r.Release()
	if p.budget.Used() != 0 {
		t.Fatalf("used %d", p.budget.Used())
	}
}

func TestReservedRoomBecomesARegion(t *testing.T) {
	p := NewPool(NewBudget(8 * mb))
	for range 2 { // the second time from idle memory
		if err := p.budget.Reserve(context.Background(), Charge(3*mb+1)); err != nil {
			t.Fatal(err)
		}
		r, err := p.GetReserved(3*mb + 1)
		if err != nil {
			t.Fatal(err)
		}
		if p.budget.Used() != Charge(3*mb+1) || len(r.Bytes()) != 3*mb+1 {
			t.Fatalf("used %d", p.budget.Used())
		}
		r.Release()
	}
	if !p.Warm(4*mb) || p.Warm(9*mb) {
		t.Fatal("Warm does not tell what it did")
	}
	p.Trim(0)
	if p.budget.Used() != 0 {
		t.Fatalf("used %d", p.budget.Used())
	}
}

// The pool gives back memory that nobody has needed for a minute, and keeps memory that a load
// needs again and again.
func TestUnneededMemoryIsGivenBack(t *testing.T) {
	const mb = 1 << 20
	p := NewPool(NewBudget(100 * mb))
	defer p.Close()
	look := func(times int) {
		for range times {
			p.look()
		}
	}
	a, b := get(t, p, 20*mb), get(t, p, 30*mb)
	a.Release()
	look(idleLooks)
	if idle := p.Idle(); idle != 20*mb {
		t.Errorf("%d bytes are idle before a minute has passed", idle)
	}
	look(1)
	if idle, used := p.Idle(), p.Budget().Used(); idle != 0 || used != 30*mb {
		t.Errorf("%d bytes are idle, %d are used", idle, used)
	}
	b.Release()
	memory := &b.Bytes()[:1][0]
	for range 10 * idleLooks { // a load that pauses for less than a minute
		look(idleLooks - 1)
		c := get(t, p, 30*mb)
		if &c.Bytes()[0] != memory {
			t.Fatal("a steady load gets other memory")
		}
		c.Release()
	}
	for range 3 * idleLooks { // a smaller load keeps the memory that it needs
		c := get(t, p, 10*mb)
		c.Release()
		look(1)
	}
	if idle := p.Idle(); idle != 10*mb {
		t.Errorf("%d bytes are idle beside a load of %d", idle, 10*mb)
	}
	look(idleLooks)
	if idle, used := p.Idle(), p.Budget().Used(); idle != 0 || used != 0 {
		t.Errorf("%d bytes are idle, %d are used", idle, used)
	}
	if !p.Warm(8 * mb) {
		t.Fatal("there is no room")
	}
	get(t, p, 40*mb).Release()
	look(2 * idleLooks)
	if idle := p.Idle(); idle != 8*mb {
		t.Errorf("%d bytes are idle, %d were to be warm", idle, 8*mb)
	}
}

// Memory that is released after the pool was closed goes at once.
func TestClosedPoolKeepsNothing(t *testing.T) {
	const mb = 1 << 20
	p := NewPool(NewBudget(100 * mb))
	a := get(t, p, 20*mb)
	get(t, p, 30*mb).Release()
	p.Close()
	if idle, used := p.Idle(), p.Budget().Used(); idle != 0 || used != 20*mb {
		t.Errorf("%d bytes are idle, %d are used", idle, used)
	}
	a.Release()
	p.Close()
	if used := p.Budget().Used(); used != 0 {
		t.Errorf("%d bytes are used", used)
	}
}
