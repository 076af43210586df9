package reservation

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/phalanx-go/phalanx/workflow"
)

func fence(n uint64) workflow.Fence { return workflow.Fence{Term: 1, Attempt: n} }

// newTrip begins a transaction on the rows a and b.
func newTrip(t *testing.T, s *Store, id string, age int) txn {
	t.Helper()
	x, err := s.begin("key of "+id, Trip{ID: id, Age: age, Rows: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func mustLock(t *testing.T, s *Store, x txn, row string, f workflow.Fence) locked {
	t.Helper()
	l, err := s.lock(context.Background(), x.ID, row, f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Each request that comes again gets the same answer, and has no second effect.
func TestStoreAnswersAgain(t *testing.T) {
	s := NewStore([]string{"a", "b"}, 2)
	x := newTrip(t, s, "x", 1)
	if y := newTrip(t, s, "x", 1); y.ID != x.ID {
		t.Errorf("transaction %d, then %d", x.ID, y.ID)
	}
	var seats []Seat
	for _, row := range []string{"a", "b"} {
		l := mustLock(t, s, x, row, workflow.Fence{})
		if second := mustLock(t, s, x, row, workflow.Fence{}); fmt.Sprint(second) != fmt.Sprint(l) || !l.Granted || len(l.Free) != 2 {
			t.Errorf("%+v, then %+v", l, second)
		}
		seats = append(seats, choose(x, row, l))
	}
	for range 2 {
		if b, err := s.finish(x.ID, seats); err != nil || !b.Booked {
			t.Errorf("%+v, %v", b, err)
		}
	}
	b := s.Look()
	if Sold, _ := b.Sold(); Sold != 2 || len(b.Booked) != 1 || len(b.Locked)+len(b.Open)+len(b.Broken) > 0 {
		t.Errorf("%+v", b)
	}
}

// An older transaction waits for a younger one; a younger one gives up. An attempt whose caller is gone stops waiting.
func TestWaitDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore([]string{"a", "b"}, 2)
		oldest, middle, young := newTrip(t, s, "oldest", 1), newTrip(t, s, "middle", 2), newTrip(t, s, "young", 3)
		mustLock(t, s, middle, "a", workflow.Fence{})
		if l := mustLock(t, s, young, "a", workflow.Fence{}); l.Granted {
			t.Error("the youngest has the lock of the middle one")
		}
		got := make(chan locked, 1)
		go func() { got <- mustLock(t, s, oldest, "a", workflow.Fence{}) }()
		gone, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() {
			_, err := s.lock(gone, oldest.ID, "a", workflow.Fence{})
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		select {
		case l := <-got:
			t.Errorf("the oldest did not wait: %+v", l)
		default:
		}
		if b, err := s.finish(middle.ID, []Seat{{"a", 0, ""}, {"b", -1, soldOut}}); err != nil || b.Booked {
			t.Errorf("%+v, %v", b, err)
		}
		if l := <-got; !l.Granted {
			t.Error("the oldest has not got the lock")
		}
		mustLock(t, s, young, "b", workflow.Fence{})
		if l := mustLock(t, s, middle, "a", workflow.Fence{}); !l.Granted {
			t.Error("the answer to the middle one has changed")
		}
		if l := mustLock(t, s, oldest, "b", workflow.Fence{}); l.Granted { // in the end it does not wait any more
			t.Error("two have the lock of b")
		}
	})
}

// An undo gives back what attempts up to its fence have locked, and refuses them afterwards.
func TestUndo(t *testing.T) {
	s := NewStore([]string{"a", "b"}, 2)
	x := newTrip(t, s, "x", 1)
	mustLock(t, s, x, "a", fence(1))
	for range 2 {
		if err := s.unlock(x.ID, "a", fence(2)); err != nil {
			t.Fatal(err)
		}
	}
	if b := s.Look(); len(b.Locked) > 0 {
		t.Errorf("%v is still locked", b.Locked)
	}
	if _, err := s.lock(context.Background(), x.ID, "a", fence(2)); err == nil || !strings.Contains(err.Error(), "was undone") {
		t.Errorf("a straggler: %v", err)
	}
	mustLock(t, s, x, "a", fence(3))
	if err := s.unlock(x.ID, "a", fence(2)); err != nil {
		t.Fatal(err)
	}
	if b := s.Look(); len(b.Locked) != 1 {
		t.Error("an old undo has undone a new attempt")
	}
}

// The store notes promises that are broken.
func TestBrokenPromises(t *testing.T) {
	for want, do := range map[string]func(*Store, txn){
		"x books a without its lock": func(s *Store, x txn) { _, _ = s.finish(x.ID, []Seat{{"a", 0, ""}, {"b", 0, ""}}) },
		"x books seat 7 of a, which is not free": func(s *Store, x txn) {
			mustLock(t, s, x, "a", workflow.Fence{})
			mustLock(t, s, x, "b", workflow.Fence{})
			_, _ = s.finish(x.ID, []Seat{{"a", 7, ""}, {"b", 0, ""}})
		},
		"x locks a after its end": func(s *Store, x txn) {
			_, _ = s.finish(x.ID, []Seat{{"a", -1, soldOut}, {"b", -1, soldOut}})
			_, _ = s.lock(context.Background(), x.ID, "a", workflow.Fence{})
		},
		"the lock of a for x is undone after its end": func(s *Store, x txn) {
			_, _ = s.finish(x.ID, []Seat{{"a", -1, soldOut}, {"b", -1, soldOut}})
			_ = s.unlock(x.ID, "a", fence(1))
		},
		"x is finished with [{a -1 } {b -1 }], and was with [{a -1 sold out} {b -1 sold out}]": func(s *Store, x txn) {
			_, _ = s.finish(x.ID, []Seat{{"a", -1, soldOut}, {"b", -1, soldOut}})
			_, _ = s.finish(x.ID, []Seat{{"a", -1, ""}, {"b", -1, ""}})
		},
	} {
		s := NewStore([]string{"a", "b"}, 2)
		do(s, newTrip(t, s, "x", 1))
		if b := s.Look(); len(b.Broken) == 0 || b.Broken[0] != want {
			t.Errorf("%q, want %q", b.Broken, want)
		}
	}
}

// Over the network the store says the same, and why it refuses.
func TestServe(t *testing.T) {
	server := httptest.NewServer(Handler(NewStore([]string{"a"}, 1)))
	defer server.Close()
	c := Client{strings.TrimPrefix(server.URL, "http://")}
	ctx := context.Background()
	x, err := c.begin(ctx, "key", Trip{ID: "x", Rows: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.lock(ctx, x.ID, "a", fence(4))
	if err != nil || !l.Granted {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, err := c.finish(ctx, x.ID, []Seat{{"b", 0, ""}}); fmt.Sprint(err) != "the store refuses to finish: x does not want [{b 0 }]" {
		t.Errorf("%v", err)
	}
	if _, err := c.unlock(ctx, x.ID, "a", fence(4)); err != nil {
		t.Error(err)
	}
	if _, err := c.lock(ctx, x.ID, "a", fence(4)); err == nil {
		t.Error("a straggler has the lock")
	}
	if b, err := c.Look(ctx); err != nil || len(b.Locked) > 0 || len(b.Open) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}
