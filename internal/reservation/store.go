// Package reservation is a program that books trips: a hotel, a flight and a car, all or none, as workflows of transactions
// on a store with two-phase locking (thesis on Hoplite and ExoFlow, sections 3.2 and 3.5.2). The store is no part of the cluster.
// In the end its books have to balance: what it has is what clients were told, once.
package reservation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/workflow"
)

// lockWait bounds how long a transaction waits for a lock. It gives up then as if an older one had it.
const lockWait = 5 * time.Second

// Store is a transactional store with two-phase locking, in memory. Deadlocks are avoided by wait-die: a transaction waits
// for younger ones, and gives up where an older one has the lock.
//
// It keeps the promises of the tasks: begin answers a key again, lock and finish answer a transaction again, and unlock
// undoes the attempts up to a fence, the late ones too. It notes each promise that its callers break.
type Store struct {
	mu     sync.Mutex
	rows   map[string]*row
	keys   map[string]*transaction
	all    []*transaction
	broken []string
}

// row is what is locked: some seats.
type row struct {
	name   string
	seats  []string // the trip that has the seat; "": it is free
	holder *transaction
	freed  chan struct{} // closed when the holder gives it back
}

// transaction is one of the store.
type transaction struct {
	txn
	locks  map[string]*answer
	undone map[string]workflow.Fence // by row: attempts up to this
	ended  *Booking
	given  []Seat // to finish
}

// answer is one to lock.
type answer struct {
	locked
	fence workflow.Fence
}

// Books is what the store has.
type Books struct {
	Rows   map[string][]string // the trips of the seats
	Booked []Booking
	Locked []string // rows
	Open   []string // trips of transactions that have not ended
	Broken []string // promises
}

// NewStore returns a store with rows of so many seats.
func NewStore(rows []string, seats int) *Store {
	s := &Store{rows: map[string]*row{}, keys: map[string]*transaction{}}
	for _, name := range rows {
		s.rows[name] = &row{name: name, seats: make([]string, seats), freed: make(chan struct{})}
	}
	return s
}

func (s *Store) begin(key string, t Trip) (txn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.keys[key]
	if x == nil {
		x = &transaction{txn: txn{len(s.all), t}, locks: map[string]*answer{}, undone: map[string]workflow.Fence{}}
		s.keys[key], s.all = x, append(s.all, x)
	}
	return x.txn, nil
}

// find returns a transaction and a row.
func (s *Store) find(id int, name string) (*transaction, *row, error) {
	if id < 0 || id >= len(s.all) || s.rows[name] == nil {
		return nil, nil, fmt.Errorf("there is no transaction %d, or no row %q", id, name)
	}
	return s.all[id], s.rows[name], nil
}

// lock locks a row for a transaction, or says that an older one has it. A transaction that asks again gets the same answer.
func (s *Store) lock(ctx context.Context, id int, name string, fence workflow.Fence) (locked, error) {
	late := time.NewTimer(lockWait)
	defer late.Stop()
	for gaveUp := false; ; {
		freed, l, err := s.tryLock(id, name, fence, gaveUp)
		if freed == nil {
			return l, err
		}
		select {
		case <-freed:
		case <-late.C:
			gaveUp = true
		case <-ctx.Done(): // the caller is gone
			return locked{}, ctx.Err()
		}
	}
}

// tryLock is lock once; freed is closed when it is worth another try.
func (s *Store) tryLock(id int, name string, fence workflow.Fence, gaveUp bool) (freed <-chan struct{}, l locked, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, r, err := s.find(id, name)
	if err != nil {
		return nil, l, err
	}
	if f, undone := x.undone[name]; undone && fence.Compare(f) <= 0 {
		return nil, l, fmt.Errorf("the lock of %s for %s was undone up to the fence %v; this attempt has %v", name, x.Trip.ID, f, fence)
	}
	if a := x.locks[name]; a != nil {
		if a.fence.Compare(fence) < 0 {
			a.fence = fence
		}
		return nil, a.locked, nil
	}
	switch h := r.holder; {
	case x.ended != nil:
		s.broken = append(s.broken, fmt.Sprintf("%s locks %s after its end", x.Trip.ID, name))
		return nil, l, errors.New("the transaction has ended")
	case h == nil:
		r.holder = x
		l = locked{Granted: true, Free: r.free()}
	case h.Trip.Age > x.Trip.Age && !gaveUp:
		return r.freed, l, nil
	}
	x.locks[name] = &answer{l, fence}
	return nil, l, nil
}

func (r *row) free() []int {
	all := []int{}
	for i, by := range r.seats {
		if by == "" {
			all = append(all, i)
		}
	}
	return all
}

// unlock undoes the locks of a row by attempts up to a fence.
func (s *Store) unlock(id int, name string, fence workflow.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, r, err := s.find(id, name)
	if err != nil {
		return err
	}
	if x.ended != nil {
		s.broken = append(s.broken, fmt.Sprintf("the lock of %s for %s is undone after its end", name, x.Trip.ID))
		return nil
	}
	if f, undone := x.undone[name]; !undone || f.Compare(fence) < 0 {
		x.undone[name] = fence
	}
	if a := x.locks[name]; a != nil && a.fence.Compare(fence) <= 0 {
		delete(x.locks, name)
		r.giveBack(x)
	}
	return nil
}

func (r *row) giveBack(x *transaction) {
	if r.holder == x {
		r.holder = nil
		close(r.freed)
		r.freed = make(chan struct{})
	}
}

// finish books the seats, if there is one of each row, and ends the transaction. A transaction that asks again gets the
// same answer.
func (s *Store) finish(id int, seats []Seat) (Booking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 0 || id >= len(s.all) {
		return Booking{}, fmt.Errorf("there is no transaction %d", id)
	}
	x := s.all[id]
	if x.ended != nil {
		if !slices.Equal(x.given, seats) {
			s.broken = append(s.broken, fmt.Sprintf("%s is finished with %v, and was with %v", x.Trip.ID, seats, x.given))
		}
		return *x.ended, nil
	}
	b := Booking{Trip: x.Trip.ID, Booked: true, Seats: seats}
	for i, t := range seats {
		if i >= len(x.Trip.Rows) || t.Row != x.Trip.Rows[i] || len(seats) != len(x.Trip.Rows) {
			return b, fmt.Errorf("%s does not want %v", x.Trip.ID, seats)
		}
		if t.Number < 0 {
			b.Booked = false
		}
	}
	if b.Booked {
		s.book(x, seats)
	}
	x.ended, x.given = &b, seats
	for _, name := range x.Trip.Rows {
		s.rows[name].giveBack(x)
	}
	return b, nil
}

// book writes the seats of a transaction. It notes those that it has not locked, or that somebody has.
func (s *Store) book(x *transaction, seats []Seat) {
	for _, t := range seats {
		r := s.rows[t.Row]
		switch {
		case r.holder != x:
			s.broken = append(s.broken, fmt.Sprintf("%s books %s without its lock", x.Trip.ID, t.Row))
		case t.Number >= len(r.seats) || r.seats[t.Number] != "":
			s.broken = append(s.broken, fmt.Sprintf("%s books seat %d of %s, which is not free", x.Trip.ID, t.Number, t.Row))
			continue
		}
		r.seats[t.Number] = x.Trip.ID
	}
}

// Look returns what the store has.
func (s *Store) Look() Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Books{Rows: map[string][]string{}, Broken: s.broken}
	for name, r := range s.rows {
		b.Rows[name] = slices.Clone(r.seats)
		if r.holder != nil {
			b.Locked = append(b.Locked, name)
		}
	}
	slices.Sort(b.Locked)
	for _, x := range s.all {
		switch {
		case x.ended == nil:
			b.Open = append(b.Open, x.Trip.ID)
		case x.ended.Booked:
			b.Booked = append(b.Booked, *x.ended)
		}
	}
	return b
}
