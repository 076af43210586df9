package dataplane

import (
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

func TestHeartbeatsComeBackUntilThePeerEnds(t *testing.T) {
	var w town
	b := w.node(t, "b#1", nil)
	a := w.node(t, "a#1", nil)
	beats, err := a.OpenBeats(deadline(t), "b#1")
	if err != nil {
		t.Fatal(err)
	}
	defer beats.Close()
	hello := a.RoundTrip("b#1")
	began := time.Now()
	for range 3 {
		if err := beats.Send(); err != nil {
			t.Fatal(err)
		}
		if err := beats.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	if took := a.RoundTrip("b#1"); took <= 0 || took > min(hello, time.Since(began)/3) {
		t.Errorf("the shortest of three round trips took %v of %v, and the hello %v", took, time.Since(began), hello)
	}
	if took := a.RoundTrip("c#1"); took != 0 {
		t.Errorf("a round trip to a node that is not known took %v", took)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := beats.Receive(); err == nil || beats.Ours() {
		t.Errorf("a heartbeat came back from a node that has left: %v", err)
	}
	if _, err = a.OpenBeats(deadline(t), "b#1"); !IsGone(err) {
		t.Errorf("%v is no proof that nobody is there", err)
	}
}

// A node hears each heartbeat that comes, and the end of the connection unless it has ended that
// itself.
func TestHeartbeatsAreHeard(t *testing.T) {
	var w town
	beats, ends := make(chan phalanx.NodeID, 10), make(chan phalanx.NodeID, 10)
	b := w.node(t, "b#1", func(c *Config) {
		c.OnBeat = func(from phalanx.NodeID) { beats <- from }
		c.OnBeatsEnd = func(from phalanx.NodeID) { ends <- from }
	})
	for _, id := range []phalanx.NodeID{"a#1", "c#1"} {
		conn, err := w.node(t, id, nil).OpenBeats(deadline(t), "b#1")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := errors.Join(conn.Send(), conn.Receive()); err != nil {
				t.Fatal(err)
			}
			if from := <-beats; from != id {
				t.Errorf("a heartbeat of %s", from)
			}
		}
		if id == "c#1" {
			b.ClosePeer(id)
			_ = conn.Receive() // ends
		}
		conn.Close()
		if id == "a#1" {
			if from := <-ends; from != id {
				t.Errorf("the end of those of %s", from)
			}
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if len(ends) > 0 {
		t.Errorf("the end of those of %s, which the node has ended", <-ends)
	}
}

func TestAnotherIncarnationIsProof(t *testing.T) {
	var w town
	b := w.node(t, "b#2", nil)
	w.set("b#1", b.Addr().String())
	a := w.node(t, "a#1", nil)
	if _, err := a.OpenBeats(deadline(t), "b#1"); !IsGone(err) {
		t.Errorf("%v is no proof that b#1 is gone", err)
	}
	other := w.node(t, "c#1", func(c *Config) { c.Cluster = "other" })
	if _, err := other.OpenBeats(deadline(t), "b#2"); err == nil || IsGone(err) {
		t.Errorf("%v says nothing about the process", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.OpenBeats(deadline(t), phalanx.NodeID("b#2")); err == nil || IsGone(err) {
		t.Errorf("%v is about the own node", err)
	}
}
