package join

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
)

var errRefused = errors.New("connection refused")

var errSilent = errors.New("it is silent")

// world runs nodes that join. The one that has begun a cluster lets others in.
type world struct {
	rng   *rand.Rand
	now   time.Duration
	queue queue
	seq   int
	hosts []*host
	seeds []string
	cut   map[[2]int]bool
	wrong string
	any   bool // any member lets others in, and not only the one that has begun the cluster
	met   int  // how often clusters have met, if they may
	meet  bool
}

// host is where a node runs, one life after the other.
type host struct {
	at    int
	lives uint64
	*life
}

type life struct {
	id      phalanx.NodeID
	core    *Core
	cluster phalanx.NodeID
	ready   bool
	hangs   time.Duration // until when
}

type delivery struct {
	at  time.Duration
	seq int
	do  func()
}

type queue []delivery

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(delivery)) }
func (q *queue) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}

func newWorld(seed uint64, nodes, seeds int) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), cut: map[[2]int]bool{}}
	for i := range seeds {
		w.seeds = append(w.seeds, fmt.Sprint(i))
	}
	for i := range nodes {
		w.hosts = append(w.hosts, &host{at: i})
	}
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, delivery{w.now + d, w.seq, do})
}

func (w *world) run(d time.Duration) {
	for end := w.now + d; len(w.queue) > 0 && w.queue[0].at <= end && w.wrong == ""; {
		next := heap.Pop(&w.queue).(delivery)
		w.now = next.at
		next.do()
	}
}

// start begins a life on h.
func (w *world) start(h *host) {
	h.lives++
	// The name of the first host is not the smallest.
	id := phalanx.MakeNodeID(fmt.Sprintf("n%d", (h.at*7+3)%10), h.lives)
	w.stop(h)
	h.life = &life{id: id, core: New(Config{Self: id, Seeds: w.seeds})}
	w.step(h, h.life, Start{})
	w.tick(h, h.life)
}

// stop ends the life on h. The others notice it, as connections break.
func (w *world) stop(h *host) {
	if h.life == nil {
		return
	}
	h.life = nil
	for _, o := range w.hosts {
		if t := o.life; t != nil {
			w.after(w.delay(), func() { w.step(o, t, Broken{}) })
		}
	}
}

func (w *world) tick(h *host, l *life) {
	w.after(20*time.Millisecond, func() {
		if h.life == l {
			w.step(h, l, Tick{})
			w.tick(h, l)
		}
	})
}

// step has a life take an event, later if it hangs.
func (w *world) step(h *host, l *life, ev Event) {
	switch {
	case h.life != l:
	case l.hangs > w.now:
		w.after(l.hangs-w.now, func() { w.step(h, l, ev) })
	default:
		for _, e := range l.core.Step(w.now, ev) {
			w.do(h, l, e)
		}
	}
}

func (w *world) do(h *host, l *life, e Effect) {
	switch e := e.(type) {
	case Ask:
		w.ask(h, l, e)
	case Boot:
		l.cluster = l.id
		w.step(h, l, Viewed{l.id, 3})
	case Enter:
		w.enter(h, l, w.hostOf(e.Seed))
	case Ready:
		l.ready = true
		for _, o := range w.hosts {
			if o.life != nil && o.ready && o.cluster != l.cluster && !w.meet {
				w.wrong = fmt.Sprintf("at %v %s is ready in the cluster of %s, and %s in that of %s", w.now, l.id, l.cluster, o.id, o.cluster)
			}
		}
	case Met:
		if w.met++; !w.meet {
			w.wrong = fmt.Sprintf("%s has met the cluster of %s", l.id, e.Cluster)
		}
	case Abandon:
		if l.ready {
			w.wrong = fmt.Sprintf("%s abandons a cluster that is ready for it", l.id)
		}
		w.start(h)
	}
}

func (w *world) hostOf(seed string) *host {
	for _, h := range w.hosts {
		if fmt.Sprint(h.at) == seed {
			return h
		}
	}
	return nil
}

func (w *world) delay() time.Duration { return time.Duration(w.rng.IntN(30)) * time.Millisecond }

// reaches reports whether what a sends now comes to b.
func (w *world) reaches(a, b *host) bool { return b.life != nil && !w.cut[[2]int{a.at, b.at}] }

func (w *world) ask(h *host, l *life, e Ask) {
	to := w.hostOf(e.Seed)
	done := false
	end := func(a Answer, err error) {
		if !done {
			done = true
			w.step(h, l, Answered{Seed: e.Seed, Num: e.Num, Answer: a, Err: err})
		}
	}
	w.after(2*time.Second, func() { end(Answer{}, errSilent) })
	if to.life == nil && !w.cut[[2]int{h.at, to.at}] {
		w.after(w.delay(), func() { end(Answer{}, errRefused) })
	}
	if !w.reaches(h, to) {
		return
	}
	says := l.core.Answer()
	var take func(t *life)
	take = func(t *life) {
		switch {
		case to.life != t:
		case t.hangs > w.now:
			w.after(t.hangs-w.now, func() { take(t) })
		default:
			w.step(to, t, Asked{By: says, At: fmt.Sprint(h.at)})
			if a := t.core.Answer(); w.reaches(to, h) {
				w.after(w.delay(), func() { end(a, nil) })
			}
		}
	}
	t := to.life
	w.after(w.delay(), func() { take(t) })
}

// enter lets a node in, if the one that has begun the cluster can be asked by way of seed.
func (w *world) enter(h *host, l *life, seed *host) {
	if seed.life == nil || seed.cluster == "" || l.cluster != "" {
		return
	}
	cluster := seed.cluster
	for _, by := range w.hosts {
		if by.life == nil || by.id != cluster && !(w.any && by.ready && by.cluster == cluster) || !w.reaches(h, seed) || !w.reaches(seed, by) || !w.reaches(by, h) || by.hangs > w.now {
			continue
		}
		w.after(w.delay(), func() {
			if h.life == l && l.cluster == "" && by.life != nil && (by.id == cluster || w.any) {
				l.cluster = cluster
				w.step(h, l, Viewed{cluster, 3})
			}
		})
	}
}
