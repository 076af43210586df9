package join

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

var (
	firstSeed = flag.Uint64("join.first", 1, "the first random world")
	manySeeds = flag.Uint64("join.seeds", 2000, "how many random worlds")
)

// worlds is how many random worlds a test runs.
func worlds() uint64 {
	if testing.Short() {
		return *manySeeds / 10
	}
	return *manySeeds
}

// all reports whether all nodes are ready in one cluster.
func (w *world) all() bool {
	for _, h := range w.hosts {
		if h.life == nil || !h.ready || h.cluster != w.hosts[0].cluster {
			return false
		}
	}
	return true
}

func TestAllStartTogether(t *testing.T) {
	for seeds := range 6 {
		w := newWorld(1, max(1, seeds+2*min(seeds, 1)), seeds)
		for _, h := range w.hosts {
			w.start(h)
		}
		w.run(10 * time.Second)
		if w.wrong != "" || !w.all() {
			t.Errorf("with %d seeds: %s", seeds, w.wrong)
		}
	}
}

// Less than a majority of the seeds waits; what is missing begins the cluster.
func TestAMinorityWaits(t *testing.T) {
	w := newWorld(1, 6, 5)
	w.start(w.hosts[5])
	w.start(w.hosts[1])
	w.start(w.hosts[4])
	w.run(time.Minute)
	for _, h := range w.hosts {
		if h.life != nil && h.cluster != "" {
			t.Errorf("%s is in a cluster", h.id)
		}
	}
	for _, h := range w.hosts {
		if h.life == nil {
			w.start(h)
		}
	}
	w.run(10 * time.Second)
	if w.wrong != "" || !w.all() {
		t.Errorf("they are not in one cluster: %s", w.wrong)
	}
}

// A seed that starts again joins the cluster that lives, whichever seed that is.
func TestASeedThatStartsAgain(t *testing.T) {
	w := newWorld(1, 3, 3)
	for _, h := range w.hosts {
		w.start(h)
	}
	w.run(10 * time.Second)
	for _, h := range w.hosts {
		if h.id != h.cluster { // in the real cluster another voter lets it in
			w.start(h)
			w.run(10 * time.Second)
		}
	}
	if w.wrong != "" || !w.all() {
		t.Errorf("they are not in one cluster: %s", w.wrong)
	}
}

// One seed has two names, and all are given both.
func TestASeedWithTwoNames(t *testing.T) {
	c := New(Config{Self: "a#1", Seeds: []string{"a", "also a", "b"}})
	var asked []Ask
	step := func(ev Event) (booted bool) {
		for _, e := range c.Step(0, ev) {
			switch e := e.(type) {
			case Ask:
				asked = append(asked, e)
			case Boot:
				booted = true
			}
		}
		return booted
	}
	step(Start{})
	for _, a := range asked[:2] {
		step(Answered{Seed: a.Seed, Num: a.Num, Answer: Answer{From: "a#1"}})
	}
	if step(Answered{Seed: "b", Num: asked[2].Num, Err: errSilent}) {
		t.Error("it counts itself twice")
	}
}

// in returns the core of a#1, which is in the cluster of a node and has two seeds, and what it
// does when they answer.
func in(cluster phalanx.NodeID) (c *Core, answer func(...Answer) []Effect) {
	c = New(Config{Self: "a#1", Seeds: []string{"b", "c", "a"}})
	step, answer := hosted(c, time.Minute)
	step(Start{})
	step(Viewed{cluster, 3})
	return c, answer
}

// hosted returns two functions: step gives a core an event and returns its effects but for what it asks; answer lets time pass, and has its seeds
// answer.
func hosted(c *Core, every time.Duration) (step func(Event) []Effect, answer func(...Answer) []Effect) {
	asked := map[string]uint64{}
	var now time.Duration
	step = func(ev Event) (out []Effect) {
		for _, e := range c.Step(now, ev) {
			if ask, ok := e.(Ask); ok {
				asked[ask.Seed] = ask.Num
			} else {
				out = append(out, e)
			}
		}
		return out
	}
	return step, func(answers ...Answer) (out []Effect) {
		now += every
		out = append(out, step(Tick{})...)
		for i, a := range answers {
			seed := c.cfg.Seeds[i]
			out = append(out, step(Answered{Seed: seed, Num: asked[seed], Answer: a})...)
		}
		return out
	}
}

func TestAYoungCluster(t *testing.T) {
	for what, c := range map[string]struct {
		answers []Answer
		want    []Effect
	}{
		"the one who has begun it waits":                 {[]Answer{{From: "b#1", Cluster: "b#1"}, {From: "c#1", Cluster: "b#1"}}, nil},
		"the one who has begun it says that it is ready": {[]Answer{{From: "b#1", Cluster: "b#1", Ready: true}}, []Effect{Ready{}}},
		"the one who has begun it runs anew":             {[]Answer{{From: "b#2"}}, []Effect{Abandon{}}},
		"another one is ready":                           {[]Answer{{From: "b#1", Cluster: "b#1"}, {From: "c#1", Cluster: "c#1", Ready: true}}, []Effect{Abandon{}}},
		"another one is young":                           {[]Answer{{From: "b#1", Cluster: "b#1"}, {From: "c#1", Cluster: "a#9"}}, nil},
	} {
		if _, answer := in("b#1"); !slices.Equal(answer(c.answers...), c.want) {
			_, answer = in("b#1")
			t.Errorf("%s: it does %+v", what, answer(c.answers...))
		}
	}
}

// Nobody lets a node in that asks for it: it may have been removed before it knew that it was a member.
func TestANodeThatIsNotLetIn(t *testing.T) {
	c := New(Config{Self: "a#1", Seeds: []string{"b"}})
	enter := func(now time.Duration) (out []Effect) {
		for _, e := range c.Step(now, Tick{}) {
			if ask, ok := e.(Ask); ok {
				out = append(out, c.Step(now, Answered{Seed: ask.Seed, Num: ask.Num, Answer: Answer{From: "b#1", Cluster: "b#1"}})...)
			}
		}
		return out
	}
	c.Step(0, Start{})
	c.Step(0, Answered{Seed: "b", Num: 1, Err: errRefused}) // it has not asked yet
	for _, at := range []time.Duration{time.Minute, time.Minute + EnterFor} {
		if did := enter(at); !slices.Equal(did, []Effect{Enter{Seed: "b"}}) {
			t.Errorf("at %v it does %+v", at, did)
		}
	}
	if did := enter(2*time.Minute + EnterFor); !slices.Equal(did, []Effect{Abandon{}}) {
		t.Errorf("at last it does %+v", did)
	}
}

// A cluster that has lost the majority of its voters lets nobody in, and may come back. Once another one goes on in its place, a node
// that has asked the first is not to wait for it: its view belongs to that cluster.
func TestAStuckClusterIsNotEntered(t *testing.T) {
	old, stuck := Answer{From: "b#1", Cluster: "b#1", Ready: true}, Answer{From: "b#1", Cluster: "b#1", Ready: true, Stuck: "no majority"}
	anew := Answer{From: "c#2", Cluster: "c#2", Ready: true}
	for what, c := range map[string]struct {
		answers [][]Answer // of b and c
		want    []Effect   // for the last of them
	}{
		"stuck":                    {[][]Answer{{stuck}}, nil},
		"stuck, and back":          {[][]Answer{{stuck}, {old}}, []Effect{Enter{Seed: "b"}}},
		"stuck for long":           {[][]Answer{{stuck}, {stuck}}, []Effect{Enter{Seed: "b"}}},
		"stuck for long, given up": {[][]Answer{{stuck}, {stuck}, {stuck, anew}}, []Effect{Enter{Seed: "b"}, Abandon{}}},
		"stuck beside others":      {[][]Answer{{stuck, anew}}, []Effect{Enter{Seed: "c"}}},
		"given up":                 {[][]Answer{{old}, {stuck, anew}}, []Effect{Enter{Seed: "b"}, Abandon{}}},
		"gone":                     {[][]Answer{{old}, {{From: "b#2", Cluster: "c#2", Ready: true}}}, []Effect{Abandon{}}},
		"beside another one":       {[][]Answer{{old}, {old, anew}}, []Effect{Enter{Seed: "b"}, Enter{Seed: "c"}}},
	} {
		step, answer := hosted(New(Config{Self: "a#1", Seeds: []string{"b", "c"}}), time.Second)
		step(Start{})
		var did []Effect
		for _, answers := range c.answers {
			did = answer(answers...)
		}
		if !slices.Equal(did, c.want) {
			t.Errorf("%s: it does %+v", what, did)
		}
	}
}

// A cluster that is ready meets another one, and says so once.
func TestClustersThatMeet(t *testing.T) {
	_, answer := in("b#1")
	self := Answer{From: "a#1", Cluster: "b#1"}
	answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, Answer{From: "c#1"}, self)
	other := Answer{From: "c#1", Cluster: "c#1", Ready: true}
	if did := answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, other); !slices.Equal(did, []Effect{Met{At: "c", Cluster: "c#1"}}) {
		t.Errorf("it does %+v", did)
	}
	if did := answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, other); did != nil {
		t.Errorf("after that it does %+v", did)
	}
}

// A cluster that lives asks a node of another one: that says so as well, once.
func TestAClusterThatAsks(t *testing.T) {
	c, answer := in("b#1")
	asked := Asked{By: Answer{From: "d#1", Cluster: "d#1", Ready: true}, At: "d"}
	answer(Answer{From: "b#1", Cluster: "b#1", Ready: true})
	if did := c.Step(time.Minute, asked); !slices.Equal(did, []Effect{Met{At: "d", Cluster: "d#1"}}) {
		t.Errorf("it does %+v", did)
	}
	if did := c.Step(time.Minute, asked); did != nil {
		t.Errorf("after that it does %+v", did)
	}
	young, _ := in("b#1")
	if did := young.Step(time.Minute, asked); !slices.Equal(did, []Effect{Abandon{}}) {
		t.Errorf("a young one does %+v", did)
	}
}

// A seed is gone for good. However many members there are, all together ask it some ten times
// a second or each of them every ten, and when it is back it is asked soon.
func TestASilentSeedIsNotFlooded(t *testing.T) {
	for members, most := range map[int]int{3: 12, 30: 9, 100: 15, 1000: 120} {
		asks := make([]int, 60_000) // in each millisecond
		for i := range members {
			c := New(Config{Self: phalanx.MakeNodeID(fmt.Sprint("m", i), 1), Seeds: []string{"s"}, Again: true})
			var step func(at time.Duration, ev Event)
			step = func(at time.Duration, ev Event) {
				for _, e := range c.Step(at, ev) {
					if a, ok := e.(Ask); ok {
						asks[at/time.Millisecond]++
						step(at, Answered{Seed: "s", Num: a.Num, Err: phalanx.ErrUnavailable})
					}
				}
			}
			step(0, Start{})
			step(0, Viewed{Cluster: "m0#1", Members: members})
			for at := time.Duration(0); at < time.Minute; {
				step(at, Tick{})
				next, ok := c.Due()
				if !ok {
					t.Fatal("it does not ask any more")
				}
				at = max(next, at+time.Millisecond)
			}
		}
		total, last, gap := 0, 20_000, 0
		for ms := 20_000; ms < len(asks); ms++ {
			if total += asks[ms]; asks[ms] > 0 {
				gap, last = max(gap, ms-last), ms
			}
		}
		if total > 40*most || gap > 1500 {
			t.Errorf("%d members ask %d times in 40 s, at most %d ms apart", members, total, gap)
		}
	}
}

// A node that is asked by members remembers few of them.
func TestManyMembersAsk(t *testing.T) {
	c := New(Config{Self: "a#1", Seeds: []string{"a"}})
	c.Step(0, Start{})
	for i := range 100 {
		c.Step(time.Second, Asked{By: Answer{From: phalanx.MakeNodeID(fmt.Sprint("m", i), 1), Cluster: "b#1", Ready: true}, At: fmt.Sprint(i)})
	}
	if len(c.members) != maxMembers {
		t.Errorf("it asks %d", len(c.members))
	}
}

// All seeds are killed and started again, at once or one after the other, while other members
// live. If one of these lets nodes in, the seeds join it. Otherwise they wait, and begin no
// second cluster, until the last of those has ended.
func TestAllSeedsStartAgain(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+worlds()/4; seed++ {
		seeds := 1 + int(seed%3)
		w := newWorld(seed, seeds+1+int(seed%4), seeds)
		w.any = seed%2 == 0
		for _, h := range w.hosts {
			w.start(h)
		}
		w.run(time.Duration(10_000+w.rng.IntN(20_000)) * time.Millisecond)
		cluster := w.hosts[0].cluster
		if !w.all() {
			t.Fatalf("seed %d: they are not in one cluster", seed)
		}
		for _, h := range w.hosts[:seeds] {
			killed := time.Duration(w.rng.IntN(100)) * time.Millisecond
			w.after(killed, func() { w.stop(h) })
			w.after(200*time.Millisecond+time.Duration(w.rng.IntN(3))*time.Duration(w.rng.IntN(3000))*time.Millisecond, func() { w.start(h) })
		}
		w.run(30 * time.Second)
		for _, h := range w.hosts[:seeds] {
			want := phalanx.NodeID("")
			if w.any {
				want = cluster
			}
			if h.cluster != want || w.any != h.ready {
				t.Fatalf("seed %d: %s is in the cluster of %q, not %q", seed, h.id, h.cluster, want)
			}
		}
		if !w.any {
			for _, h := range w.hosts[seeds:] {
				w.stop(h)
			}
			w.run(20 * time.Second) // seeds that nobody has let in begin anew meanwhile
			w.hosts = w.hosts[:seeds]
			if !w.all() {
				t.Fatalf("seed %d: the seeds have begun nothing", seed)
			}
		}
		if w.wrong != "" {
			t.Fatalf("seed %d: %s", seed, w.wrong)
		}
	}
}

// All seeds start again while the other members are cut off from them: they begin a second
// cluster. When the cut ends both hear of it, whoever asks first.
func TestASecondClusterIsTold(t *testing.T) {
	w := newWorld(1, 5, 3)
	for _, h := range w.hosts {
		w.start(h)
	}
	w.run(10 * time.Second)
	w.meet = true
	for _, h := range w.hosts[:3] {
		for _, o := range w.hosts[3:] {
			w.cut[[2]int{h.at, o.at}], w.cut[[2]int{o.at, h.at}] = true, true
		}
		w.start(h)
	}
	w.run(20 * time.Second)
	if w.hosts[0].cluster == w.hosts[3].cluster || !w.hosts[0].ready || w.met != 0 {
		t.Fatalf("there is no second cluster; %d have met one", w.met)
	}
	clear(w.cut)
	w.run(12 * time.Second)
	if w.met != 5 {
		t.Errorf("%d of 5 nodes were told", w.met)
	}
}

// Links are cut in one way and in both, and nodes hang, while they start one after the other.
// Nobody starts anew: there is never a second cluster that is ready. When all is well, all
// are in one.
func TestRandomWorlds(t *testing.T) {
	met := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+worlds(); seed++ {
		seeds := 1 + int(seed%5)
		w := newWorld(seed, seeds+int(seed%3), seeds)
		for _, h := range w.hosts {
			w.after(time.Duration(w.rng.IntN(5000))*time.Millisecond, func() { w.start(h) })
		}
		for range w.rng.IntN(12) {
			w.after(time.Duration(w.rng.IntN(10_000))*time.Millisecond, func() { w.trouble(met) })
		}
		w.run(15 * time.Second)
		clear(w.cut)
		w.run(40 * time.Second)
		if w.wrong == "" && !w.all() {
			w.wrong = "they are not in one cluster"
		}
		if w.wrong != "" {
			t.Fatalf("seed %d: %s", seed, w.wrong)
		}
	}
	for _, what := range []string{"cut", "one way", "hang"} {
		if met[what] == 0 {
			t.Errorf("no %s was met", what)
		}
	}
}

func (w *world) trouble(met map[string]int) {
	a, b := w.hosts[w.rng.IntN(len(w.hosts))], w.hosts[w.rng.IntN(len(w.hosts))]
	switch w.rng.IntN(3) {
	case 0:
		met["cut"]++
		for _, o := range w.hosts {
			if o != a && w.rng.IntN(2) == 0 {
				w.cut[[2]int{a.at, o.at}], w.cut[[2]int{o.at, a.at}] = true, true
			}
		}
	case 1:
		met["one way"]++
		w.cut[[2]int{a.at, b.at}] = a != b
	case 2:
		if a.life != nil {
			met["hang"]++
			a.hangs = w.now + time.Duration(w.rng.IntN(8000))*time.Millisecond
		}
	}
}

// Only the answer to the present question counts.
func TestAnOldAnswerDoesNotCount(t *testing.T) {
	c := New(Config{Self: "a#1", Seeds: []string{"b"}})
	ask := c.Step(0, Start{})[0].(Ask)
	old := Answered{Seed: "b", Num: ask.Num - 1, Answer: Answer{From: "b#1", Cluster: "b#1", Ready: true}}
	if did := c.Step(0, old); did != nil {
		t.Errorf("it does %+v", did)
	}
	old.Num = ask.Num
	if did := c.Step(0, old); !slices.Equal(did, []Effect{Enter{Seed: "b"}}) {
		t.Errorf("it does %+v", did)
	}
}

// What a seed said before this node wanted to begin a cluster itself does not count for it: the
// seed may have joined another one since.
func TestAnEarlierPromiseDoesNotCount(t *testing.T) {
	c := New(Config{Self: "a#1", Seeds: []string{"a", "b"}})
	c.num = 7
	c.promiseTo("a#1")
	for of, want := range map[uint64]bool{6: false, 7: false, 8: true} {
		if got := c.promised(&seed{of: of, answer: Answer{From: "b#1", Promise: "a#1"}}); got != want {
			t.Errorf("the answer to question %d counts: %v", of, got)
		}
	}
}

// The members that a node knew are asked for as long as it takes, however long they are silent.
// One that has asked this node is forgotten.
func TestSilentMembersAreAskedOn(t *testing.T) {
	c := New(Config{Self: "a#2", Seeds: []string{"s"}, Members: []string{"m"}, Again: true})
	first := append(c.Step(0, Start{}), c.Step(0, Asked{By: Answer{From: "o#1", Cluster: "b#1", Ready: true}, At: "o"})...)
	asked := map[string]int{}
	for now := time.Duration(0); now < time.Minute; now += 100 * time.Millisecond {
		todo := append(first, c.Step(now, Tick{})...)
		for first = nil; len(todo) > 0; todo = todo[1:] {
			if a, ok := todo[0].(Ask); ok {
				if now > 30*time.Second {
					asked[a.Seed]++
				}
				todo = append(todo, c.Step(now, Answered{Seed: a.Seed, Num: a.Num, Err: errSilent})...)
			}
		}
	}
	if asked["m"] < 20 || asked["o"] > 0 {
		t.Errorf("in half a minute it asks %v", asked)
	}
}

// A promise holds for as long as the one who has it asks.
func TestAPromiseHoldsWhileItIsAskedFor(t *testing.T) {
	c := New(Config{Self: "c#1", Seeds: []string{"a", "b"}})
	c.promiseTo("a#1")
	c.Step(4*time.Second, Asked{By: Answer{From: "a#1", Promise: "a#1"}, At: "a"})
	c.Step(8*time.Second, Tick{})
	if c.released() {
		t.Error("it ended although it was asked for")
	}
	if c.Step(9*time.Second+time.Millisecond, Tick{}); !c.released() {
		t.Error("it holds for ever")
	}
}

// A seed that is in no cluster may begin one: a member asks it again as soon as a silent one.
func TestASeedInNoClusterIsAskedSoon(t *testing.T) {
	c, answer := in("b#1")
	answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, Answer{From: "c#1"})
	if !c.ready {
		t.Fatal("it is not ready")
	}
	answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, Answer{From: "c#1"})
	if member, none := c.seeds[0].next-c.now, c.seeds[1].next-c.now; member != c.cfg.MeetEvery || none > time.Second {
		t.Errorf("it asks the member after %v, the other one after %v", member, none)
	}
}
