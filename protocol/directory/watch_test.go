package directory

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A watcher that does not acknowledge is told ever later. One that has acknowledged,
// and asks whether its owner is alive, does not get the inline bytes again.
func TestAWatcherIsToldEverLater(t *testing.T) {
	p := newPair()
	var told []Readiness
	step := func(ev Event) {
		told = nil
		for _, e := range p.owner.Step(p.now, ev) {
			if r, ok := e.(Readiness); ok {
				told = append(told, r)
			}
		}
	}
	p.ask("x", PutInline{Meta: phalanx.Meta{Size: 5}, Bytes: []byte("hello"), Digest: phalanx.Digest{5}})
	watch := Request{From: "b", Num: 100, Object: "x", Body: Watch{}}
	step(watch)
	if len(told) != 1 || string(told[0].Bytes) != "hello" {
		t.Fatalf("told %v", told)
	}
	var after []time.Duration
	for last := p.now; len(after) < 7; {
		p.now += 100 * time.Millisecond
		step(Tick{})
		if len(told) > 0 {
			after, last = append(after, p.now-last), p.now
		}
	}
	ms := time.Millisecond
	if want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms, 2000 * ms}; !slices.Equal(after, want) {
		t.Errorf("told after %v, want %v", after, want)
	}
	step(watch)
	if len(told) != 0 {
		t.Errorf("told %v, which is on its way", told)
	}
	p.now += 100 * ms
	step(watch)
	if len(told) != 1 || string(told[0].Bytes) != "hello" {
		t.Fatalf("told %v, although it has acknowledged nothing", told)
	}
	version := told[0].Version
	step(WatchAcked{From: "b", Num: 100, Object: "x", Version: version})
	step(watch)
	if len(told) != 1 || told[0].Version != version || told[0].Bytes != nil {
		t.Errorf("told %v, want only that the owner is alive", told)
	}
}
