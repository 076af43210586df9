package dataplane

import (
	"testing"
	"time"
)

// Of the last round trips the shortest counts; older ones do not.
func TestTheShortestOfTheLastRoundTripsCounts(t *testing.T) {
	var p trip
	if p.value() != 0 {
		t.Errorf("there was none, and it took %v", p.value())
	}
	for _, d := range []time.Duration{5, 3, 9} {
		p.took(d * time.Millisecond)
	}
	if p.value() != 3*time.Millisecond {
		t.Errorf("the shortest of 5, 3 and 9 ms is %v", p.value())
	}
	for range trips {
		p.took(7 * time.Millisecond)
	}
	if p.value() != 7*time.Millisecond {
		t.Errorf("after many of 7 ms it is %v", p.value())
	}
}

// The hello of any connection measures the path for the node that made the connection.
func TestAHelloIsARoundTrip(t *testing.T) {
	for name, connect := range map[string]func(*Conns) error{
		"heartbeats": func(a *Conns) error {
			beats, err := a.OpenBeats(deadline(t), "b#1")
			if err == nil {
				beats.Close()
			}
			return err
		},
		"messages": func(a *Conns) error { return a.Post("b#1", nil) },
		"streams":  func(a *Conns) error { return a.Warm(deadline(t), "b#1") },
	} {
		t.Run(name, func(t *testing.T) {
			var w town
			in := newInbox()
			b := w.node(t, "b#1", in.listen)
			a := w.node(t, "a#1", nil)
			if took := a.RoundTrip("b#1"); took != 0 {
				t.Errorf("a round trip took %v before there was one", took)
			}
			began := time.Now()
			if err := connect(a); err != nil {
				t.Fatal(err)
			}
			if name == "messages" {
				receive(t, in.messages)
			}
			if took := a.RoundTrip("b#1"); took <= 0 || took > time.Since(began) {
				t.Errorf("it took %v of %v", took, time.Since(began))
			}
			if took := b.RoundTrip("a#1"); took != 0 {
				t.Errorf("the other node has measured %v", took)
			}
			w.set("b#1", "127.0.0.1:1")
			a.ClosePeer("b#1")
			if _, err := a.OpenBeats(deadline(t), "b#1"); err == nil || a.RoundTrip("b#1") != 0 {
				t.Errorf("a connection that could not be made took %v: %v", a.RoundTrip("b#1"), err)
			}
		})
	}
}
