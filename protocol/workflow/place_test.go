package workflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// placing is a placer with members and runs, whose tasks all run f.
type placing struct {
	placer
	t       testing.TB
	members []*member
	likes   map[*hosted]*member
}

func newPlacing(t testing.TB, slots ...int) *placing {
	p := &placing{t: t, likes: map[*hosted]*member{}}
	for i, n := range slots {
		p.member(fmt.Sprintf("n%d", i), n, Function{"f", 1})
	}
	return p
}

func (p *placing) member(name string, slots int, offers ...Function) *member {
	m := &member{slots: slots}
	m.node = phalanx.NodeID(name)
	p.enter(m, offers)
	p.members = append(p.members, m)
	return m
}

// run adds a run with so many ready tasks.
func (p *placing) run(tasks int, f Function) *hosted {
	h := &hosted{work: &Work{Graph: &Graph{Tasks: make([]Task, tasks)}, Functions: []Function{f}, Calls: make([]int32, tasks)}, want: make([]bool, tasks)}
	e, err := Check(h.work.Graph)
	if err != nil {
		p.t.Fatal(err)
	}
	h.run = NewRun(RunConfig{Epoch: 1}, e, nil)
	for v := range tasks {
		h.want[v] = true
		h.ready++
		p.add(h, v, f)
	}
	return h
}

// place places one attempt.
func (p *placing) place(now time.Duration) (*hosted, *member) {
	h, v, m, ok := p.next(now, (*hosted).wants, func(h *hosted, _ int) *member { return p.likes[h] })
	if !ok {
		return nil, nil
	}
	h.unwant(v)
	p.use(m, 1)
	return h, m
}

// The least loaded member gets an attempt: the one with the least share of its slots taken.
func TestTheLeastLoadedMemberGetsAnAttempt(t *testing.T) {
	p := newPlacing(t, 1, 4, 2)
	p.run(10, Function{"f", 1})
	got := ""
	for {
		_, m := p.place(0)
		if m == nil {
			break
		}
		got += string(m.node) + " "
	}
	if want := "n0 n1 n2 n1 n1 n2 n1 "; got != want {
		t.Errorf("attempts went to %s, want %s", got, want)
	}
}

// A run with many ready tasks lets the others have their turn.
func TestRunsTakeTurns(t *testing.T) {
	p := newPlacing(t, 6)
	big := p.run(100_000, Function{"f", 1})
	small := []*hosted{p.run(1, Function{"f", 1}), p.run(2, Function{"f", 1})}
	var got []*hosted
	for {
		h, _ := p.place(0)
		if h == nil {
			break
		}
		got = append(got, h)
	}
	want := []*hosted{big, small[0], small[1], big, small[1], big}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the turns are not taken in order")
	}
}

// A function that no member offers waits, and holds up no other. It is placed once a member offers it.
func TestAFunctionThatNobodyOffersWaits(t *testing.T) {
	p := newPlacing(t, 2)
	other := p.run(1, Function{"f", 2})
	run := p.run(1, Function{"f", 1})
	if h, _ := p.place(0); h != run {
		t.Fatal("the run whose function is offered does not begin")
	}
	if h, _ := p.place(0); h != nil || p.offered(Function{"f", 2}) {
		t.Fatal("a member gets a function that it does not offer")
	}
	m := p.member("new", 1, Function{"f", 1}, Function{"f", 2})
	if h, to := p.place(0); h != other || to != m || !p.offered(Function{"f", 2}) {
		t.Fatalf("it goes to %v", to)
	}
	p.leave(m)
	if p.offered(Function{"f", 2}) {
		t.Error("the function is offered by a member that has left")
	}
}

// An attempt goes to where its input is; if no slot is free there it waits for 50 ms, and then goes elsewhere.
func TestAnAttemptWaitsForTheMemberWithItsInput(t *testing.T) {
	p := newPlacing(t, 1, 1)
	n0, n1 := p.members[0], p.members[1]
	first := p.run(1, Function{"f", 1})
	p.likes[first] = n1
	if _, m := p.place(0); m != n1 {
		t.Fatalf("it goes to %v, and its input is on n1", m)
	}
	second := p.run(1, Function{"f", 1})
	p.likes[second] = n1
	if h, _ := p.place(0); h != nil {
		t.Fatal("it does not wait for n1")
	}
	third := p.run(1, Function{"f", 1})
	p.likes[third] = n1
	if h, m := p.place(localWait - 1); h != third || m != n0 { // two do not both begin there soon
		t.Fatalf("the next one goes to %v", m)
	}
	p.use(n0, -1)
	if h, _ := p.place(localWait - 1); h != nil {
		t.Fatal("it goes elsewhere before 50 ms have passed")
	}
	if at, ok := p.waiting.Due(); !ok || at != localWait {
		t.Fatalf("it is looked at %v, %v", at, ok)
	}
	if h, m := p.place(localWait); h != second || m != n0 {
		t.Fatalf("after 50 ms it goes to %v", m)
	}
	fourth := p.run(1, Function{"f", 1})
	p.likes[fourth] = n1
	if h, _ := p.place(localWait); h != nil {
		t.Fatal("it does not wait for n1")
	}
	p.use(n1, -1)
	if h, m := p.place(localWait + 1); h != fourth || m != n1 {
		t.Fatalf("a slot is free on n1, and it goes to %v", m)
	}
}

// Attempts still wait for a slot after a member comes that offers other functions.
func TestWhatWaitsOutlivesAChangeOfTheGroups(t *testing.T) {
	p := newPlacing(t, 1)
	n0 := p.members[0]
	p.use(n0, 1)
	late, early, line := p.run(1, Function{"f", 1}), p.run(1, Function{"f", 1}), p.run(2, Function{"f", 1})
	other := p.member("n1", 1, Function{"g", 1}, Function{"f", 1})
	p.likes[late], p.likes[early] = n0, n0
	p.place(0)         // one waits for n0, and one takes n1
	p.place(localWait) // it does not wait any more, and no slot is free
	p.member("n2", 3, Function{"h", 1}, Function{"f", 1})
	_ = other
	got := map[*hosted]int{}
	for {
		h, _ := p.place(localWait)
		if h == nil {
			break
		}
		got[h]++
	}
	if len(got) != 2 || got[line] != 2 || got[late]+got[early] != 1 {
		t.Errorf("placed are %v", got)
	}
}

// A member that leaves gives back what waits for it; one that is busy gets nothing.
func TestAMemberThatLeavesHoldsNothingUp(t *testing.T) {
	p := newPlacing(t, 1, 1)
	n1 := p.members[1]
	p.use(n1, 1)
	h := p.run(1, Function{"f", 1})
	p.likes[h] = n1
	if got, _ := p.place(0); got != nil {
		t.Fatal("it does not wait")
	}
	p.leave(n1)
	p.likes[h] = nil
	p.hold(p.members[0], true)
	if got, _ := p.place(1); got != nil {
		t.Fatal("a busy member gets an attempt")
	}
	p.hold(p.members[0], false)
	if got, m := p.place(1); got != h || m != p.members[0] {
		t.Fatalf("it goes to %v", m)
	}
}

// Placing an attempt takes as long with many ready attempts and members as with few.
func BenchmarkPlace(b *testing.B) {
	for _, c := range []struct{ tasks, members int }{{1_000, 10}, {100_000, 10}, {100_000, 100}} {
		b.Run(fmt.Sprintf("%d ready, %d members", c.tasks, c.members), func(b *testing.B) {
			p := newPlacing(b)
			for i := range c.members {
				p.member(fmt.Sprintf("n%d", i), 8, Function{"f", 1}, Function{"g", i % 3})
			}
			for b.Loop() {
				b.StopTimer()
				for range 10 {
					p.run(c.tasks/10, Function{"f", 1})
				}
				b.StartTimer()
				for n := 0; n < c.tasks; {
					_, m := p.place(0)
					if m != nil {
						n++
						continue
					}
					for _, m := range p.members {
						p.use(m, -m.used)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.tasks), "ns/attempt")
		})
	}
}
