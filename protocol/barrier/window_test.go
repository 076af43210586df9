package barrier

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A barrier waits for its turn to ask, and another call has it ask as soon as there is a place, before its
// turn. It goes on asking until it has an answer.
func TestAQuestionThatDoesNotWaitForItsTurn(t *testing.T) {
	members := []phalanx.NodeID{"a", "b", "c"}
	v := Viewed{Self: "a", Number: 1, Members: members}
	c := NewCore(CoreConfig{Window: 1})
	now := time.Second
	c.Step(now, v)
	c.Step(now, Leased{Until: time.Hour})
	var of []Key // two with another primary
	for g := uint64(0); len(of) < 2; g++ {
		if k := (Key{Name: string(rune('A' + g%26)), Generation: g}); c.primary(k) == "b" {
			of = append(of, k)
		}
	}
	asks := func(ev Event) (first, second int) {
		for _, o := range c.Step(now, ev) {
			if m, ok := o.(Send); ok {
				if r, ok := m.Message.(Reached); ok && r.Key == of[0] {
					first++
				} else if ok && r.Key == of[1] {
					second++
				}
			}
		}
		return first, second
	}
	enter := func(id uint64, k Key, host string) Call {
		return Call{ID: id, Kind: CallEnter, Key: k, Config: Config{Max: 9}, Entry: Entry{Host: host}}
	}
	if first, second := asks(Batch{enter(1, of[0], "h"), enter(2, of[1], "h")}); first != 1 || second != 0 {
		t.Fatalf("it asks %d and %d times", first, second)
	}
	now += 10 * time.Millisecond
	attempt := c.groups[of[0]].parts[Entry{Host: "h"}].attempt
	answer := Answers{Key: of[0], Term: 1, Batch: 1, List: []Answered{{Entry: Entry{Host: "h"}, Attempt: attempt, Verdict: Registered}}, Stamp: time.Second}
	if _, second := asks(Batch{Heard{From: "b", Message: answer}, enter(3, of[1], "i")}); second != 1 {
		t.Fatalf("the second asks %d times", second)
	}
	again := 0
	for end := now + 2*time.Second; now < end; now += 10 * time.Millisecond {
		if at, ok := c.Due(); ok && at <= now {
			_, second := asks(Tick{})
			again += second
		}
	}
	if again == 0 {
		t.Error("it asks once, and the question may have got lost")
	}
}
