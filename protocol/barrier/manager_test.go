package barrier_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// clusterOf is some cores and a network that loses what lose says, and nothing else.
type clusterOf struct {
	t     *testing.T
	now   time.Duration
	cores map[phalanx.NodeID]*barrier.Core
	view  barrier.Viewed
	queue []flying
	lose  func(from, to phalanx.NodeID, m barrier.Message) bool
	done  map[uint64]barrier.Done
	said  map[phalanx.NodeID][]barrier.Output // besides messages and what is done
	given []barrier.GivenUp
	ids   uint64

	behind map[phalanx.NodeID]time.Duration // by how much a node's clock is
}

type flying struct {
	from, to phalanx.NodeID
	m        barrier.Message
}

func newCluster(t *testing.T, n int) *clusterOf {
	c := &clusterOf{t: t, cores: map[phalanx.NodeID]*barrier.Core{}, done: map[uint64]barrier.Done{}, said: map[phalanx.NodeID][]barrier.Output{}, behind: map[phalanx.NodeID]time.Duration{}}
	for i := range n {
		id := phalanx.MakeNodeID(fmt.Sprint("n", i), uint64(i+1))
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i) << 20})
		c.view.Members = append(c.view.Members, id)
	}
	c.view.Number = 1
	for _, id := range c.view.Members {
		c.learn(id)
		c.step(id, barrier.Leased{Until: time.Hour})
	}
	return c
}

func (c *clusterOf) learn(id phalanx.NodeID) {
	v := c.view
	v.Self = id
	c.step(id, v)
}

// remove takes a member out of the view, and tells the others.
func (c *clusterOf) remove(id phalanx.NodeID) {
	c.view.Number++
	c.view.Members = slices.DeleteFunc(slices.Clone(c.view.Members), func(n phalanx.NodeID) bool { return n == id })
	for _, n := range c.view.Members {
		c.learn(n)
	}
}

func (c *clusterOf) kill(id phalanx.NodeID) { delete(c.cores, id) }

func (c *clusterOf) step(id phalanx.NodeID, e barrier.Event) {
	core := c.cores[id]
	if core == nil {
		return
	}
	for _, o := range core.Step(c.now-c.behind[id], e) {
		switch o := o.(type) {
		case barrier.Send:
			if c.lose == nil || !c.lose(id, o.To, o.Message) {
				c.queue = append(c.queue, flying{id, o.To, o.Message})
			}
		case barrier.Done:
			c.done[o.ID] = o
		case barrier.GivenUp:
			c.given = append(c.given, o)
			c.said[id] = append(c.said[id], o)
		default:
			c.said[id] = append(c.said[id], o)
		}
	}
}

// settle delivers all messages; time stands still.
func (c *clusterOf) settle() {
	for len(c.queue) > 0 {
		f := c.queue[0]
		c.queue = c.queue[1:]
		c.step(f.to, barrier.Heard{From: f.from, Message: f.m})
	}
}

// pass lets time pass, a millisecond at a time.
func (c *clusterOf) pass(d time.Duration) {
	for end := c.now + d; c.now < end; {
		c.now += ms
		for _, id := range slices.Sorted(maps.Keys(c.cores)) {
			if at, ok := c.cores[id].Due(); ok && at <= c.now-c.behind[id] {
				c.step(id, barrier.Tick{})
			}
		}
		c.settle()
	}
}

func (c *clusterOf) call(on phalanx.NodeID, call barrier.Call) uint64 {
	c.ids++
	call.ID = c.ids
	c.step(on, call)
	return call.ID
}

func (c *clusterOf) enter(on phalanx.NodeID, cfg barrier.Config, host string) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: key, Config: cfg, Entry: barrier.Entry{Host: host}})
}

var key = barrier.Key{Name: "b"}

func (c *clusterOf) managers() []phalanx.NodeID { return barrier.ManagersOf(c.view, key.Name) }

// bystander is a member that manages nothing of the barrier, or failing that the last
// of its managers.
func (c *clusterOf) bystander() phalanx.NodeID {
	for _, id := range c.view.Members {
		if !slices.Contains(c.managers(), id) {
			return id
		}
	}
	return c.managers()[len(c.managers())-1]
}

func (c *clusterOf) want(id uint64, v barrier.Verdict) {
	c.t.Helper()
	if d, ok := c.done[id]; !ok || d.Verdict != v {
		c.t.Fatalf("call %d: %+v, %v; want %s", id, d, ok, v)
	}
}

func (c *clusterOf) waits(ids ...uint64) {
	c.t.Helper()
	for _, id := range ids {
		if d, ok := c.done[id]; ok {
			c.t.Fatalf("call %d does not wait: %+v", id, d)
		}
	}
}

func is[M barrier.Message](m barrier.Message) bool {
	return reflect.TypeOf(m) == reflect.TypeFor[M]()
}

// The primary dies right after its backups have the last entry: nobody sends
// anything any more, and yet it is noticed, and the barrier fires.
func TestThePrimaryDiesAfterItForwardedTheLastEntry(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Max: 2}
	primary, on := c.managers()[0], c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == primary && is[barrier.Answers](m) }
	b := c.enter(on, cfg, "b")
	c.settle()
	c.waits(a, b)
	c.kill(primary)
	c.pass(30 * ms) // less than anything is repeated after
	c.remove(primary)
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// Whatever is lost on the way to the primary, to its backups and back, is repeated
// until there is an answer.
func TestWhatIsLostIsRepeated(t *testing.T) {
	c := newCluster(t, 4)
	for i, id := range c.view.Members { // managers that forget who had entered would call a participant late whose answers were all lost
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i) << 20, Keep: time.Hour})
		c.learn(id)
		c.step(id, barrier.Leased{Until: time.Hour})
	}
	r := rand.New(rand.NewPCG(1, 1))
	c.lose = func(phalanx.NodeID, phalanx.NodeID, barrier.Message) bool { return r.IntN(3) > 0 }
	cfg := barrier.Config{Max: 4}
	var ids []uint64
	for i, on := range c.view.Members {
		ids = append(ids, c.enter(on, cfg, fmt.Sprint("h", i)))
	}
	c.pass(3 * time.Minute) // what was lost often is repeated rarely
	for _, id := range ids {
		c.want(id, barrier.Fire)
	}
}

// FIRE is lost: a member of the fired set asks again and gets FIRE, not LATE_FIRE,
// also from another primary. One that was not there is late.
func TestAMemberOfTheFiredSetIsNotLate(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Max: 1, Late: barrier.CatchUp}
	primary, on := c.managers()[0], c.bystander()
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == primary && is[barrier.Answers](m) }
	a := c.enter(on, cfg, "a")
	c.settle()
	c.waits(a)
	c.kill(primary)
	c.remove(primary)
	c.settle()
	c.want(a, barrier.Fire)
	b := c.enter(on, cfg, "b")
	c.settle()
	c.want(b, barrier.Behind)
}

// An old primary that does not know that it is none cannot act: its backups have
// promised the new one to refuse it.
func TestTwoPrimaries(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Max: 2}
	old, on := c.managers()[0], c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	c.remove(old) // which does not learn of it, and hears nothing
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return to == old || from == old }
	b := c.enter(old, cfg, "b") // a participant of its own
	c.settle()
	c.lose = nil
	c.pass(500 * ms)
	c.waits(a, b)
	for _, o := range c.said[old] {
		if p, ok := o.(barrier.Publish); ok && p.Happened.What == barrier.HasFired {
			t.Fatal("the old primary has fired")
		}
	}
	d := c.enter(on, cfg, "d")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(d, barrier.Fire)
	took := 0
	for _, said := range c.said {
		for _, o := range said {
			if x, ok := o.(barrier.TookOver); ok && x.From == old {
				took++
			}
		}
	}
	if took != 1 {
		t.Errorf("%d say that they took over", took)
	}
}

// Who has no lease does not act, whatever its backups say.
func TestAPrimaryWithoutALease(t *testing.T) {
	c := newCluster(t, 1)
	c.now = 2 * time.Hour
	a := c.enter(c.view.Members[0], barrier.Config{Max: 1}, "a")
	c.settle()
	c.waits(a)
	c.step(c.view.Members[0], barrier.Leased{Until: 3 * time.Hour})
	c.pass(time.Second)
	c.want(a, barrier.Fire)
}

// A new primary of a semaphore knows who holds it, and admits no more than its count;
// what is released afterwards is admitted again.
func TestANewPrimaryKnowsTheHolders(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 2, Timeout: time.Minute}}
	on := c.bystander()
	var ids []uint64
	for i := range 4 {
		ids = append(ids, c.enter(on, cfg, fmt.Sprint("h", i)))
	}
	c.settle()
	for range 2 { // two primaries die, one after the other
		c.want(ids[0], barrier.Fire)
		c.want(ids[1], barrier.Fire)
		c.waits(ids[2], ids[3])
		primary := c.managers()[0]
		c.kill(primary)
		c.remove(primary)
		c.settle()
	}
	c.call(on, barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "h0"}})
	c.settle()
	c.want(ids[2], barrier.Fire)
	c.waits(ids[3])
}

// All managers die at once, and with them what they knew: the nodes of the holders
// say who they are before anybody is admitted.
func TestAllManagersDie(t *testing.T) {
	c := newCluster(t, 6)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 2, Timeout: time.Minute}}
	var rest []phalanx.NodeID
	for _, id := range c.view.Members {
		if !slices.Contains(c.managers(), id) {
			rest = append(rest, id)
		}
	}
	var ids []uint64
	for i := range 4 {
		ids = append(ids, c.enter(rest[i%2], cfg, fmt.Sprint("h", i)))
	}
	c.settle()
	c.want(ids[0], barrier.Fire)
	c.want(ids[1], barrier.Fire)
	for _, id := range c.managers() {
		c.kill(id)
	}
	for _, id := range c.managers() {
		c.remove(id)
	}
	c.pass(time.Second)
	c.waits(ids[2], ids[3])
	c.call(rest[1], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "h1"}})
	c.pass(100 * ms)
	if _, first := c.done[ids[2]]; first { // nobody knows any more who was to be the next one
		c.waits(ids[3])
	} else {
		c.want(ids[3], barrier.Fire)
	}
}

// An answer of an earlier term that comes late does not count: who is let through by
// it would not be known to the new primary.
func TestAnAnswerOfAnEarlierTerm(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	primary, on := c.managers()[0], c.bystander()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if from == primary && is[barrier.Answers](m) {
			late = append(late, flying{from, to, m})
			return true
		}
		return false
	}
	a := c.enter(on, cfg, "a")
	c.settle()
	c.waits(a)
	c.kill(primary)
	c.remove(primary)
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == on && is[barrier.Answers](m) }
	c.settle()
	c.queue = append(c.queue, late...)
	c.settle()
	c.waits(a)
	c.lose = nil
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	hosts := c.call(on, barrier.Call{Kind: barrier.CallHosts, Key: key})
	c.settle()
	if d := c.done[hosts]; d.Term != c.view.Number || len(d.Hosts) != 1 {
		t.Errorf("%+v", d)
	}
}

// What is over is forgotten: fired barriers after a while, and of a loop's
// generations all but the last ones.
func TestWhatIsOverIsForgotten(t *testing.T) {
	c := newCluster(t, 3)
	cfg := barrier.Config{Max: 1}
	for g := range uint64(10) {
		c.call(c.view.Members[0], barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: "b", Generation: g}, Config: cfg, Entry: barrier.Entry{Host: "a"}})
		c.settle()
	}
	if seen := c.cores[c.managers()[0]].Seen(); len(seen) != 2 {
		t.Errorf("%d generations are left", len(seen))
	}
	c.now += 11 * time.Minute
	c.pass(10 * ms)
	if seen := c.cores[c.managers()[0]].Seen(); len(seen) != 0 {
		t.Errorf("%d are left", len(seen))
	}
}

// A loop whose barriers have a name each does not fill the memory: who has passed is known for
// ten seconds, and that it has fired of so many.
func TestThoseThatAreOverAreBounded(t *testing.T) {
	c := newCluster(t, 1)
	on := c.view.Members[0]
	c.cores[on] = barrier.NewCore(barrier.CoreConfig{Remember: 1000})
	c.learn(on)
	c.step(on, barrier.Leased{Until: time.Hour})
	cfg := barrier.Config{Max: 10}
	for i := range 3000 {
		for h := range 10 {
			c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: fmt.Sprint("step/", i)}, Config: cfg, Entry: barrier.Entry{Host: fmt.Sprint("h", h)}})
		}
		c.now += 10 * ms
	}
	for id := range uint64(30_000) {
		c.want(id+1, barrier.Fire)
	}
	for i, want := range map[int]barrier.Outcome{2999: barrier.OK, 2100: barrier.OK, 1900: barrier.Forgotten, 1600: barrier.Forgotten, 900: barrier.Unknown, 0: barrier.Unknown} {
		id := c.call(on, barrier.Call{Kind: barrier.CallHosts, Key: barrier.Key{Name: fmt.Sprint("step/", i)}})
		c.settle()
		if o := c.done[id].Outcome; o != want {
			t.Errorf("%d: the outcome is %d, not %d", i, o, want)
		}
	}
}

// A name's managers are different ones for different names, and a member that comes
// or goes moves few of them.
func TestPlacement(t *testing.T) {
	v := barrier.Viewed{Number: 1}
	for i := range 20 {
		v.Members = append(v.Members, phalanx.MakeNodeID(fmt.Sprint("n", i), 1))
	}
	primaries := map[phalanx.NodeID]int{}
	moved := 0
	less := v
	less.Members = v.Members[:19]
	for i := range 2000 {
		name := fmt.Sprint("barrier/", i)
		m := barrier.ManagersOf(v, name)
		if len(m) != 3 || m[0] == m[1] || m[1] == m[2] || m[0] == m[2] {
			t.Fatalf("%v", m)
		}
		primaries[m[0]]++
		if barrier.ManagersOf(less, name)[0] != m[0] {
			moved++
		}
	}
	for id, n := range primaries {
		if n < 50 || n > 160 {
			t.Errorf("%s is the primary of %d of 2000", id, n)
		}
	}
	if moved > 160 {
		t.Errorf("%d of 2000 have another primary without one member", moved)
	}
	leaving := v
	leaving.Leaving = v.Members[:19]
	if m := barrier.ManagersOf(leaving, "x"); len(m) != 1 || m[0] != v.Members[19] {
		t.Errorf("%v", m)
	}
}

// Barriers one of whose backups hangs do not hold up the others of their primary.
func TestAHangingBackupHoldsUpItsBarriersAlone(t *testing.T) {
	c := newCluster(t, 8)
	first, cfg := barrier.ManagersOf(c.view, "0"), barrier.Config{Max: 1}
	on := c.view.Members[slices.IndexFunc(c.view.Members, func(id phalanx.NodeID) bool { return !slices.Contains(first, id) })]
	for _, id := range c.view.Members {
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Window: 2})
		c.learn(id)
		c.step(id, barrier.Leased{Until: time.Hour})
	}
	var stuck, free []uint64
	for i := range 400 {
		k := barrier.Key{Name: fmt.Sprint(i)}
		managers := barrier.ManagersOf(c.view, k.Name)
		if managers[0] != first[0] {
			continue
		}
		id := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: k, Config: cfg, Entry: barrier.Entry{Host: "h"}})
		if slices.Contains(managers[1:], first[1]) {
			stuck = append(stuck, id)
		} else {
			free = append(free, id)
		}
	}
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == first[1] && is[barrier.Replicate](m) }
	c.pass(20 * time.Second)
	if len(stuck) < 4 || len(free) < 4 {
		t.Fatalf("%d barriers wait, and %d need not", len(stuck), len(free))
	}
	c.waits(stuck...)
	for _, id := range free {
		c.want(id, barrier.Fire)
	}
}
