package reservation

import (
	"fmt"
	"maps"
	"testing"

	"github.com/phalanx-go/phalanx/workflow"
)

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
	for _, s := range Stages {
		waits, err := workflow.Check(s.Flow(Outside{}.Program(), Trip{Rows: []string{"hotel 1", "flight 1", "car 1"}}), Outside{}.Tasks())
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if got := fmt.Sprint(waits); got != want[s.Name] {
			t.Errorf("%s waits for %s, want %s", s.Name, got, want[s.Name])
		}
	}
}

// The check of the books finds what is wrong with them.
func TestCheck(t *testing.T) {
	x := Booking{"x", true, []Seat{{"a", 0, ""}}}
	y := Booking{"y", false, []Seat{{"b", -1, soldOut}}}
	good := func() (Books, map[string]Booking) {
		return Books{Rows: map[string][]string{"a": {"x", ""}, "b": {}}, Booked: []Booking{x}}, map[string]Booking{"x": x, "y": y}
	}
	if b, told := good(); b.Check(told) != nil {
		t.Error(b.Check(told))
	}
	for want, change := range map[string]func(*Books, map[string]Booking){
		"the store has seen 1 broken promises: z":                         func(b *Books, _ map[string]Booking) { b.Broken = []string{"z"} },
		`locks are left of ["a"], and transactions of []`:                 func(b *Books, _ map[string]Booking) { b.Locked = []string{"a"} },
		`locks are left of [], and transactions of ["z"]`:                 func(b *Books, _ map[string]Booking) { b.Open = []string{"z"} },
		"x is booked twice":                                               func(b *Books, _ map[string]Booking) { b.Booked = []Booking{x, x} },
		"x has 1 seats too many":                                          func(b *Books, _ map[string]Booking) { b.Rows["a"][1] = "x" },
		`seat 0 of a is that of "z", not of x`:                            func(b *Books, _ map[string]Booking) { b.Rows["a"][0] = "z" },
		"1 trips have seats and are not booked":                           func(b *Books, _ map[string]Booking) { b.Rows["a"][1] = "z" },
		"the client of z was told that it is booked, and it is not":       func(_ *Books, told map[string]Booking) { told["z"] = Booking{"z", true, nil} },
		"the client of y was told that b is sold out, and it has 1 seats": func(b *Books, _ map[string]Booking) { b.Rows["b"] = []string{""} },
		"x is booked as {Trip:x Booked:true Seats:[{Row:a Number:0 Why:}]}, and its client was told {Trip: Booked:false Seats:[]}": func(_ *Books, told map[string]Booking) {
			maps.DeleteFunc(told, func(id string, _ Booking) bool { return id == "x" })
		},
	} {
		b, told := good()
		change(&b, told)
		if err := b.Check(told); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
