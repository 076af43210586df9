package join

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

var (
	firstSeed = flag.Uint64("join.first", 1, "the first random world")
	manySeeds = flag.Uint64("join.seeds", 2000, "how many random worlds")
)

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
	asked := map[string]uint64{}
	var now time.Duration
	step := func(ev Event) (out []Effect) {
		for _, e := range c.Step(now, ev) {
			if ask, ok := e.(Ask); ok {
				asked[ask.Seed] = ask.Num
			} else {
				out = append(out, e)
			}
		}
		return out
	}
	step(Start{})
	step(Viewed{cluster})
	return c, func(answers ...Answer) (out []Effect) {
		now += time.Minute
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

// A cluster that is ready meets another one, and says so once.
func TestClustersThatMeet(t *testing.T) {
	_, answer := in("b#1")
	self := Answer{From: "a#1", Cluster: "b#1"}
	answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, Answer{From: "c#1"}, self)
	other := Answer{From: "c#1", Cluster: "c#1", Ready: true}
	if did := answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, other); !slices.Equal(did, []Effect{Met{Seed: "c", Cluster: "c#1"}}) {
		t.Errorf("it does %+v", did)
	}
	if did := answer(Answer{From: "b#1", Cluster: "b#1", Ready: true}, other); did != nil {
		t.Errorf("after that it does %+v", did)
	}
}

// Links are cut in one way and in both, and nodes hang, while they start one after the other.
// Nobody starts anew: there is never a second cluster that is ready. When all is well, all
// are in one.
func TestRandomWorlds(t *testing.T) {
	met := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
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
