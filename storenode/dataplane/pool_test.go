package dataplane

import (
	"context"
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
	d := get(t, p, 7*mb) // 10 MB are more than a quarter too much
	if p.budget.Used() != 26*mb || p.Idle() != 10*mb {
		t.Fatalf("idle %d, used %d", p.Idle(), p.budget.Used())
	}
	c.Release()
	d.Release()
	p.Trim(0)
	if p.budget.Used() != 0 {
		t.Fatalf("used %d", p.budget.Used())
	}
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
	for range 60 { // of small ones, so that the large one is forgotten
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
