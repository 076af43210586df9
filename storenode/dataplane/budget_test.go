package dataplane

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/phalanx-go/phalanx"
)

func TestBudgetMoreThanTheCapFailsAtOnce(t *testing.T) {
	b := NewBudget(100)
	err := b.Reserve(context.Background(), 101)
	if !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), "101") || !strings.Contains(err.Error(), "100") {
		t.Fatalf("%v", err)
	}
	if err := b.Reserve(context.Background(), -1); !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatalf("%v", err)
	}
}

// TestBudgetServesInOrder: a small reservation does not overtake a large one that waits.
func TestBudgetServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		var needs []int64
		b.OnPressure(func(n int64) { needs = append(needs, n) })
		if !b.TryReserve(90) {
			t.Fatal("no room in an empty budget")
		}
		var mu sync.Mutex
		var order []int64
		for _, n := range []int64{50, 5, 60} {
			go func() {
				if err := b.Reserve(context.Background(), n); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
			}()
			synctest.Wait()
		}
		if b.TryReserve(1) {
			t.Fatal("TryReserve overtook those that wait")
		}
		if err := b.ReserveNow(1); !errors.Is(err, phalanx.ErrNoSpace) {
			t.Fatalf("%v", err)
		}
		if len(order) != 0 || len(needs) != 3 || needs[0] != 40 || needs[1] != 45 || needs[2] != 105 {
			t.Fatalf("granted %v, needed %v", order, needs)
		}
		for _, c := range []struct {
			release int64
			granted int
			used    int64
		}{{39, 0, 51}, {6, 2, 100}, {39, 2, 61}, {21, 3, 100}} {
			b.Release(c.release)
			synctest.Wait()
			if len(order) != c.granted || b.Used() != c.used {
				t.Fatalf("%d released: granted %v, used %d", c.release, order, b.Used())
			}
		}
		if order[0] != 50 && order[1] != 50 || order[2] != 60 || b.Peak() != 100 {
			t.Fatalf("granted %v, peak %d", order, b.Peak())
		}
	})
}

func TestBudgetCancelledReservationLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.TryReserve(60)
		ctx, cancel := context.WithCancel(context.Background())
		var first error
		go func() { first = b.Reserve(ctx, 80) }()
		synctest.Wait()
		passed := false
		go func() { passed = b.Reserve(context.Background(), 30) == nil }()
		synctest.Wait()
		if passed {
			t.Fatal("a reservation overtook another")
		}
		cancel()
		synctest.Wait()
		if !errors.Is(first, phalanx.ErrNoSpace) || !errors.Is(first, context.Canceled) || !strings.Contains(first.Error(), "40 of 100") {
			t.Fatalf("%v", first)
		}
		if !passed || b.Used() != 90 {
			t.Fatalf("passed %v, used %d", passed, b.Used())
		}
	})
}

// Whoever runs late is told that there is no room only if it still waits for some.
func TestBudgetLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.TryReserve(60)
		if err := b.Lack(30, context.DeadlineExceeded); !errors.Is(err, phalanx.ErrDeadline) || errors.Is(err, phalanx.ErrNoSpace) {
			t.Errorf("there is room, and it is told %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { _ = b.Reserve(ctx, 80) }()
		synctest.Wait()
		if err := b.Lack(80, context.DeadlineExceeded); !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), "40 of 100") {
			t.Errorf("there is no room, and it is told %v", err)
		}
	})
}
