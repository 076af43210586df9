package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/workflow"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// Processes are killed in each stage, and the books balance: run checks them.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{workers: 3, clients: 2, trips: 2, killed: 2, seats: 8, every: 10, seed: 3, dir: t.TempDir()}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "the books balance: ") {
		t.Errorf("%s", out.String())
	}
	for _, s := range stages {
		if !strings.Contains(out.String(), "\n"+s.name+" ") {
			t.Errorf("the stage %s is missing in\n%s", s.name, out.String())
		}
	}
}

func TestRunErrors(t *testing.T) {
	good := options{workers: 1, clients: 1, trips: 1, killed: 1, seats: 1, every: 2}
	for _, change := range []func(*options){
		func(o *options) { o.workers = 0 }, func(o *options) { o.clients = 0 }, func(o *options) { o.trips = 0 },
		func(o *options) { o.killed = 0 }, func(o *options) { o.seats = 0 }, func(o *options) { o.every = 1 },
	} {
		o := good
		change(&o)
		if err := run(context.Background(), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// Each task of a stage waits for fewer of the others to be saved than that of the stage before.
func TestStages(t *testing.T) {
	want := map[string]string{
		"WAL":       "[{go on [begin]}]", // and so on, as the workflow grows
		"-WAL":      "[{take [begin]} {take#2 [begin take]} {take#3 [begin take take#2]} {finish [begin take take#2 take#3]}]",
		"+parallel": "[{take [begin]} {take#2 [begin]} {take#3 [begin]} {finish [begin take take#2 take#3]}]",
		"-async": "[{lock [begin]} {reserve [begin lock]} {lock#2 [begin]} {reserve#2 [begin lock#2]} {lock#3 [begin]} {reserve#3 [begin lock#3]} " +
			"{finish [begin lock reserve lock#2 reserve#2 lock#3 reserve#3]}]",
		"+async": "[{lock [begin]} {lock#2 [begin]} {lock#3 [begin]} {finish [begin lock lock#2 lock#3]}]",
	}
	for _, s := range stages {
		waits, err := workflow.Check(s.flow(outside{}.program(), trip{Rows: []string{"hotel 1", "flight 1", "car 1"}}), outside{}.tasks())
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if got := fmt.Sprint(waits); got != want[s.name] {
			t.Errorf("%s waits for %s, want %s", s.name, got, want[s.name])
		}
	}
}

// The check of the books finds what is wrong with them.
func TestCheck(t *testing.T) {
	x := booking{"x", true, []seat{{"a", 0, ""}}}
	y := booking{"y", false, []seat{{"b", -1, soldOut}}}
	good := func() (books, map[string]booking) {
		return books{Rows: map[string][]string{"a": {"x", ""}, "b": {}}, Booked: []booking{x}}, map[string]booking{"x": x, "y": y}
	}
	if b, told := good(); b.check(told) != nil {
		t.Error(b.check(told))
	}
	for want, change := range map[string]func(*books, map[string]booking){
		"the store has seen 1 broken promises: z":                         func(b *books, _ map[string]booking) { b.Broken = []string{"z"} },
		`locks are left of ["a"], and transactions of []`:                 func(b *books, _ map[string]booking) { b.Locked = []string{"a"} },
		`locks are left of [], and transactions of ["z"]`:                 func(b *books, _ map[string]booking) { b.Open = []string{"z"} },
		"x is booked twice":                                               func(b *books, _ map[string]booking) { b.Booked = []booking{x, x} },
		"x has 1 seats too many":                                          func(b *books, _ map[string]booking) { b.Rows["a"][1] = "x" },
		`seat 0 of a is that of "z", not of x`:                            func(b *books, _ map[string]booking) { b.Rows["a"][0] = "z" },
		"1 trips have seats and are not booked":                           func(b *books, _ map[string]booking) { b.Rows["a"][1] = "z" },
		"the client of z was told that it is booked, and it is not":       func(_ *books, told map[string]booking) { told["z"] = booking{"z", true, nil} },
		"the client of y was told that b is sold out, and it has 1 seats": func(b *books, _ map[string]booking) { b.Rows["b"] = []string{""} },
		"x is booked as {Trip:x Booked:true Seats:[{Row:a Number:0 Why:}]}, and its client was told {Trip: Booked:false Seats:[]}": func(_ *books, told map[string]booking) {
			maps.DeleteFunc(told, func(id string, _ booking) bool { return id == "x" })
		},
	} {
		b, told := good()
		change(&b, told)
		if err := b.check(told); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
