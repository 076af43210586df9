package dataplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
)

func TestBudgetMoreThanTheCapFailsAtOnce(t *testing.T) {
	b := NewBudget(100)
	for _, err := range []error{b.Reserve(context.Background(), 101), b.ReserveWithin(context.Background(), 101, time.Hour), b.ReserveNow(101)} {
		if !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), "101") || !strings.Contains(err.Error(), "100") {
			t.Errorf("%v", err)
		}
	}
	for _, err := range []error{b.Reserve(context.Background(), -1), b.ReserveNow(-1)} {
		if !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	if b.TryReserve(-1) {
		t.Error("less than nothing is reserved")
	}
}

// The budget grants the first waiting request that fits. One that fits at once passes the others.
func TestBudgetServesWhatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		var needs []int64
		b.OnPressure(func(n int64) { needs = append(needs, n) })
		if !b.TryReserve(90) {
			t.Fatal("no room in an empty budget")
		}
		var mu sync.Mutex
		var order []int64
		for _, n := range []int64{50, 5, 60, 30} {
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
		if !b.TryReserve(2) || b.ReserveNow(3) != nil {
			t.Fatal("what is free is not reserved while others wait")
		}
		if requests, bytes := b.Waiting(); requests != 3 || bytes != 140 {
			t.Errorf("%d wait for %d", requests, bytes)
		}
		if fmt.Sprint(needs) != "[40 105 135]" {
			t.Fatalf("needed %v", needs)
		}
		for _, c := range []struct {
			release int64
			granted string
			used    int64
		}{{29, "[5]", 71}, {1, "[5 30]", 100}, {59, "[5 30 50]", 91}, {51, "[5 30 50 60]", 100}} {
			b.Release(c.release)
			synctest.Wait()
			if fmt.Sprint(order) != c.granted || b.Used() != c.used {
				t.Fatalf("%d released: granted %v, used %d", c.release, order, b.Used())
			}
		}
		if b.Peak() != 100 {
			t.Fatalf("peak %d", b.Peak())
		}
	})
}

// No request passes one that has waited for 2 s, also if nobody comes or goes then.
func TestBudgetGivesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.TryReserve(60)
		large := make(chan error, 1)
		go func() { large <- b.Reserve(context.Background(), 80) }()
		time.Sleep(1900 * time.Millisecond)
		if !b.TryReserve(10) {
			t.Error("it is not passed")
		}
		b.Release(10)
		time.Sleep(200 * time.Millisecond)
		if b.TryReserve(10) {
			t.Error("it is passed during its turn")
		}
		small := make(chan time.Time, 1)
		began := time.Now()
		go func() {
			if err := b.Reserve(context.Background(), 10); err != nil {
				t.Error(err)
			}
			small <- time.Now()
		}()
		if took := (<-small).Sub(began); took > 2*time.Second {
			t.Errorf("a small request has waited for %v", took)
		}
		b.Release(50)
		if err := <-large; err != nil {
			t.Error(err)
		}
	})
}

func TestBudgetOneThatLeavesLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.TryReserve(60)
		ctx, cancel := context.WithCancel(context.Background())
		var first error
		go func() { first = b.Reserve(ctx, 80) }()
		time.Sleep(2100 * time.Millisecond) // it has its turn
		passed := false
		go func() { passed = b.Reserve(context.Background(), 30) == nil }()
		synctest.Wait()
		if passed {
			t.Fatal("a request passed another one in its turn")
		}
		cancel()
		synctest.Wait()
		if !errors.Is(first, phalanx.ErrNoSpace) || !errors.Is(first, context.Canceled) || !strings.Contains(first.Error(), "of 100 are free") {
			t.Fatalf("%v", first)
		}
		if !passed || b.Used() != 90 {
			t.Fatalf("passed %v, used %d", passed, b.Used())
		}
		if requests, bytes := b.Waiting(); requests != 0 || bytes != 0 {
			t.Errorf("%d wait for %d", requests, bytes)
		}
	})
}

// A request waits as long as it says. The budget refuses it at once if only pinned and reserved
// bytes could make room. Either error has the numbers and says what to do.
func TestBudgetWaitsNoLongerThanItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		var needs []int64
		b.OnPressure(func(n int64) { needs = append(needs, n) })
		b.TryReserve(90)
		b.Last(40, 7)
		began := time.Now()
		err := b.ReserveWithin(context.Background(), 54, 10*time.Second)
		for _, says := range []string{"54 bytes are needed", "10 of 100 are free", "40 are pinned", "7 are reserved", "delete objects", "--memory"} {
			if !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v does not say %q", err, says)
			}
		}
		if took := time.Since(began); took != 0 || len(needs) != 0 {
			t.Errorf("it took %v, and pressed for %v", took, needs)
		}
		err = b.ReserveWithin(context.Background(), 53, 10*time.Second)
		for _, says := range []string{"53 bytes are needed", "within 10s", "delete objects", "--memory-wait"} {
			if !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v does not say %q", err, says)
			}
		}
		if took := time.Since(began); took != 10*time.Second || fmt.Sprint(needs) != "[43]" {
			t.Errorf("it took %v, and pressed for %v", took, needs)
		}
		// 0 does not wait, and evicts nothing.
		if err := b.ReserveWithin(context.Background(), 11, 0); !errors.Is(err, phalanx.ErrNoSpace) || time.Since(began) != 10*time.Second || len(needs) != 1 {
			t.Errorf("%v after %v, pressed for %v", err, time.Since(began), needs)
		}
		if err := b.ReserveWithin(context.Background(), 10, 0); err != nil {
			t.Error(err)
		}
		b.Last(-40, -7)
		met := make(chan error, 1)
		go func() { met <- b.ReserveWithin(context.Background(), 54, 10*time.Second) }()
		time.Sleep(9 * time.Second)
		b.Release(54)
		if err := <-met; err != nil {
			t.Error(err)
		}
	})
}

// A request that can be granted again asks for room by itself.
func TestBudgetHopeReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		var needs []int64
		b.OnPressure(func(n int64) { needs = append(needs, n) })
		b.TryReserve(90)
		b.Last(60, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { _ = b.Reserve(ctx, 50) }()
		synctest.Wait()
		if len(needs) != 0 || b.Missing() != 0 {
			t.Errorf("it pressed for %v, %d are missing", needs, b.Missing())
		}
		b.Last(-10, 0)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if fmt.Sprint(needs) != "[40]" || b.Missing() != 40 {
			t.Errorf("it pressed for %v, %d are missing", needs, b.Missing())
		}
	})
}

// A caller that runs late hears that there is no room only if it still waits for some.
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

// Bytes that come back before a late tick give a request its turn: then, too, the budget asks for
// the rest.
func TestATurnThatBeginsWithARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.OnPressure(func(n int64) { b.Release(n) })
		if !b.TryReserve(60) || !b.TryReserve(40) {
			t.Fatal("nothing is free")
		}
		b.Last(60, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- b.Reserve(ctx, 80) }()
		synctest.Wait()
		b.Last(-60, 0)
		b.mu.Lock()
		b.timer.Stop()
		b.mu.Unlock()
		time.Sleep(3 * time.Second)
		b.Release(60)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
