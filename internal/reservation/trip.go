package reservation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/phalanx-go/phalanx/workflow"
)

// Trip is what a client wants: a seat of each row.
type Trip struct {
	ID    string
	Age   int      // of the client's first attempt: who is older has the lower one
	Rows  []string // a hotel, a flight, a car
	Kills bool     // attempts of its tasks may be killed
}

// txn is a transaction of the store.
type txn struct {
	ID   int
	Trip Trip
}

// locked is a row as a transaction sees it that has locked it.
type locked struct {
	Granted bool  // else an older transaction has it
	Free    []int // seats
}

// Seat is what a transaction takes of a row.
type Seat struct {
	Row    string
	Number int    // -1: none
	Why    string // there is none: tooYoung, soldOut
}

// Why a transaction gets no seat.
const (
	tooYoung = "an older transaction has the lock"
	soldOut  = "sold out"
)

// Booking is how a transaction has ended.
type Booking struct {
	Trip   string
	Booked bool
	Seats  []Seat // of what is booked; else what was had of each row
}

// Again reports whether the client tries again.
func (b Booking) Again() bool {
	return !b.Booked && slices.ContainsFunc(b.Seats, func(s Seat) bool { return s.Why == tooYoung })
}

// choose takes a seat of a locked row. It depends on nothing else.
func choose(t txn, row string, l locked) Seat {
	switch {
	case !l.Granted:
		return Seat{row, -1, tooYoung}
	case len(l.Free) == 0:
		return Seat{row, -1, soldOut}
	}
	return Seat{row, l.Free[t.Trip.Age%len(l.Free)], ""}
}

// RowsOf returns the rows of a trip: kinds of things, of each of which there are some.
func RowsOf(r *rand.Rand, each int) (all []string) {
	for _, kind := range []string{"hotel", "flight", "car"} {
		all = append(all, fmt.Sprintf("%s %d", kind, r.IntN(each)))
	}
	return all
}

// AllRows returns all rows that rowsOf returns some of.
func AllRows(each int) (all []string) {
	for _, kind := range []string{"hotel", "flight", "car"} {
		for i := range each {
			all = append(all, fmt.Sprintf("%s %d", kind, i))
		}
	}
	return all
}

// Program has the tasks.
type Program struct {
	begin   workflow.F1[Trip, txn]
	take    workflow.F2[txn, string, Seat]
	goOn    workflow.F2[txn, []Seat, Booking]
	lock    workflow.F2[txn, string, locked]
	reserve workflow.F3[txn, string, locked, Seat]
	finish  workflow.F2[txn, []Seat, Booking]
}

// Stage is a way to write the workflow.
type Stage struct {
	Name string
	What string
	Flow func(Program, Trip) workflow.Step[Booking]
}

// Stages are those of figure 3.7b.
var Stages = []Stage{
	{"WAL", "each task is called by the one before, and logged", Program.logged},
	{"-WAL", "the graph is known from the start", Program.sequential},
	{"+parallel", "hotel, flight and car at once", Program.parallel},
	{"-async", "lock and reserve apart, checkpoints waited for", Program.synchronous},
	{"+async", "the same, checkpoints while it goes on", Program.asynchronous},
}

// logged has each task decide what the next one is. The workflow that it returns is recorded before that begins.
func (p Program) logged(t Trip) workflow.Step[Booking] {
	return p.goOn.Bind(p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint), workflow.Value([]Seat{})).With(workflow.SyncCheckpoint)
}

// sequential has the same tasks in the same order. They are effects that the store repeats by their keys.
func (p Program) sequential(t Trip) workflow.Step[Booking] {
	x := p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint)
	var seats []workflow.Arg[Seat]
	var last []workflow.AnyStep
	for _, row := range t.Rows {
		s := workflow.After(p.take.Bind(x, workflow.Value(row)).With(workflow.SyncCheckpoint), last...)
		seats, last = append(seats, s), []workflow.AnyStep{s}
	}
	return p.finish.Bind(x, workflow.All(seats...))
}

func (p Program) parallel(t Trip) workflow.Step[Booking] {
	x := p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint)
	var seats []workflow.Arg[Seat]
	for _, row := range t.Rows {
		seats = append(seats, p.take.Bind(x, workflow.Value(row)).With(workflow.SyncCheckpoint))
	}
	return p.finish.Bind(x, workflow.All(seats...))
}

// synchronous has a lock that is undone if its attempt is lost, and a choice that is no effect at all.
func (p Program) synchronous(t Trip) workflow.Step[Booking] {
	return p.split(t, workflow.SyncCheckpoint, workflow.SyncCheckpoint)
}

// asynchronous needs no checkpoint of the choice, which is deterministic, and saves the others while the workflow goes on:
// only finish, which cannot be undone, waits until what it depends on is saved.
func (p Program) asynchronous(t Trip) workflow.Step[Booking] {
	return p.split(t, nil, workflow.NoCheckpoint)
}

func (p Program) split(t Trip, saves, reserves workflow.Option) workflow.Step[Booking] {
	x := p.begin.Bind(workflow.Value(t))
	if saves != nil {
		x = x.With(saves)
	}
	var seats []workflow.Arg[Seat]
	for _, row := range t.Rows {
		l := p.lock.Bind(x, workflow.Value(row))
		if saves != nil {
			l = l.With(saves)
		}
		seats = append(seats, p.reserve.Bind(x, workflow.Value(row), l).With(reserves))
	}
	return p.finish.Bind(x, workflow.All(seats...))
}
