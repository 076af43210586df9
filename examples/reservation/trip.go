package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/phalanx-go/phalanx/workflow"
)

// trip is what a client wants: a seat of each row.
type trip struct {
	ID    string
	Age   int      // of the client's first attempt: who is older has the lower one
	Rows  []string // a hotel, a flight, a car
	Kills bool     // attempts of its tasks may be killed
}

// txn is a transaction of the store.
type txn struct {
	ID   int
	Trip trip
}

// locked is a row as a transaction sees it that has locked it.
type locked struct {
	Granted bool  // else an older transaction has it
	Free    []int // seats
}

// seat is what a transaction takes of a row.
type seat struct {
	Row    string
	Number int    // -1: none
	Why    string // there is none: tooYoung, soldOut
}

// Why a transaction gets no seat.
const (
	tooYoung = "an older transaction has the lock"
	soldOut  = "sold out"
)

// booking is how a transaction has ended.
type booking struct {
	Trip   string
	Booked bool
	Seats  []seat // of what is booked; else what was had of each row
}

// again reports whether the client tries again.
func (b booking) again() bool {
	return !b.Booked && slices.ContainsFunc(b.Seats, func(s seat) bool { return s.Why == tooYoung })
}

// choose takes a seat of a locked row. It depends on nothing else.
func choose(t txn, row string, l locked) seat {
	switch {
	case !l.Granted:
		return seat{row, -1, tooYoung}
	case len(l.Free) == 0:
		return seat{row, -1, soldOut}
	}
	return seat{row, l.Free[t.Trip.Age%len(l.Free)], ""}
}

// rowsOf returns the rows of a trip: kinds of things, of each of which there are some.
func rowsOf(r *rand.Rand, each int) (all []string) {
	for _, kind := range []string{"hotel", "flight", "car"} {
		all = append(all, fmt.Sprintf("%s %d", kind, r.IntN(each)))
	}
	return all
}

// allRows returns all rows that rowsOf returns some of.
func allRows(each int) (all []string) {
	for _, kind := range []string{"hotel", "flight", "car"} {
		for i := range each {
			all = append(all, fmt.Sprintf("%s %d", kind, i))
		}
	}
	return all
}

// program has the tasks.
type program struct {
	begin   workflow.F1[trip, txn]
	take    workflow.F2[txn, string, seat]
	goOn    workflow.F2[txn, []seat, booking]
	lock    workflow.F2[txn, string, locked]
	reserve workflow.F3[txn, string, locked, seat]
	finish  workflow.F2[txn, []seat, booking]
}

// stage is a way to write the workflow.
type stage struct {
	name string
	what string
	flow func(program, trip) workflow.Step[booking]
}

// stages are those of figure 3.7b.
var stages = []stage{
	{"WAL", "each task is called by the one before, and logged", program.logged},
	{"-WAL", "the graph is known from the start", program.sequential},
	{"+parallel", "hotel, flight and car at once", program.parallel},
	{"-async", "lock and reserve apart, checkpoints waited for", program.synchronous},
	{"+async", "the same, checkpoints while it goes on", program.asynchronous},
}

// logged has each task decide what the next one is. The workflow that it returns is recorded before that begins.
func (p program) logged(t trip) workflow.Step[booking] {
	return p.goOn.Bind(p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint), workflow.Value([]seat{})).With(workflow.SyncCheckpoint)
}

// sequential has the same tasks in the same order. They are effects that the store repeats by their keys.
func (p program) sequential(t trip) workflow.Step[booking] {
	x := p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint)
	var seats []workflow.Arg[seat]
	var last []workflow.AnyStep
	for _, row := range t.Rows {
		s := workflow.After(p.take.Bind(x, workflow.Value(row)).With(workflow.SyncCheckpoint), last...)
		seats, last = append(seats, s), []workflow.AnyStep{s}
	}
	return p.finish.Bind(x, workflow.All(seats...))
}

func (p program) parallel(t trip) workflow.Step[booking] {
	x := p.begin.Bind(workflow.Value(t)).With(workflow.SyncCheckpoint)
	var seats []workflow.Arg[seat]
	for _, row := range t.Rows {
		seats = append(seats, p.take.Bind(x, workflow.Value(row)).With(workflow.SyncCheckpoint))
	}
	return p.finish.Bind(x, workflow.All(seats...))
}

// synchronous has a lock that is undone if its attempt is lost, and a choice that is no effect at all.
func (p program) synchronous(t trip) workflow.Step[booking] {
	return p.split(t, workflow.SyncCheckpoint, workflow.SyncCheckpoint)
}

// asynchronous needs no checkpoint of the choice, which is deterministic, and saves the others while the workflow goes on:
// only finish, which cannot be undone, waits until what it depends on is saved.
func (p program) asynchronous(t trip) workflow.Step[booking] {
	return p.split(t, nil, workflow.NoCheckpoint)
}

func (p program) split(t trip, saves, reserves workflow.Option) workflow.Step[booking] {
	x := p.begin.Bind(workflow.Value(t))
	if saves != nil {
		x = x.With(saves)
	}
	var seats []workflow.Arg[seat]
	for _, row := range t.Rows {
		l := p.lock.Bind(x, workflow.Value(row))
		if saves != nil {
			l = l.With(saves)
		}
		seats = append(seats, p.reserve.Bind(x, workflow.Value(row), l).With(reserves))
	}
	return p.finish.Bind(x, workflow.All(seats...))
}
