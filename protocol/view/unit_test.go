package view

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx"
)

func TestConfigValidate(t *testing.T) {
	ok := Config{Self: Member{ID: "a#1"}}
	if err := ok.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]func(*Config){
		"no name":         func(c *Config) { c.Self.ID = "#1" },
		"no shards":       func(c *Config) { c.Shards = -1 },
		"even voters":     func(c *Config) { c.Voters = 4 },
		"negative":        func(c *Config) { c.Stagger = -1 },
		"short lease":     func(c *Config) { c.LeaseFor = 100 * time.Millisecond },
		"early suspicion": func(c *Config) { c.SilentAfter = 200 * time.Millisecond },
		"compaction":      func(c *Config) { c.CompactEvery = -1 },
	} {
		c := ok
		bad(&c)
		if c.Validate() == nil {
			t.Errorf("%s: %+v passes", name, c)
		}
	}
}

func TestCommandsSurviveTheWire(t *testing.T) {
	for _, cmd := range []Command{
		AddMember{Member{ID: "a#1", Control: "h:1", Data: "h:2", Version: "v1", Features: []string{"x"}}, Common{Name: "c", Wire: "1"}, "a#0"},
		RemoveMember{Node: "a#1", Dead: true},
		RemoveMember{Node: "a#1", HandedOver: 7},
		Leaving{Node: "a#1"},
		Leaving{Node: "a#1", Stays: true},
		InSync{Shards: []Synced{{Shard: 3, Epoch: 4, Node: "b#2"}}},
		Drop{Shard: 1, Epoch: 2, Node: "c#3"},
		seat{Voters: []phalanx.NodeID{"a#1", "b#2"}},
	} {
		data := EncodeCommand(cmd)
		back, err := DecodeCommand(data)
		if err != nil || !bytes.Equal(EncodeCommand(back), data) || back.String() != cmd.String() {
			t.Errorf("%v came back as %v, %v", cmd, back, err)
		}
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"Drop":{}}`, `{"Seat":{}}`, `{"Add":{"Member":{"ID":"#1"}}}`, `{"Leave":{"Node":"a"},"Remove":{"Node":"a"}}`} {
		if cmd, err := DecodeCommand([]byte(bad)); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%s is %v, %v", bad, cmd, err)
		}
	}
}

func TestViewsSurviveTheWire(t *testing.T) {
	w := newNetwork(Config{Shards: 3})
	w.boot("a#1")
	w.join("b#1", "a#1")
	w.run(time.Second)
	v := w.node("b#1").View()
	back, err := DecodeView(EncodeView(v))
	if err != nil || back.String() != v.String() || v.Number == 0 {
		t.Errorf("%v came back as %v, %v", v, back, err)
	}
	if m, ok := back.Member("b#1"); !ok || m.Data != "b:2" || back.Has("c#1") {
		t.Errorf("the members are %v", back.Members)
	}
	object := phalanx.ObjectID("weights/7")
	if s, i := back.Owner(object); i != object.Shard(3) || s != back.Shards[i] {
		t.Errorf("%s belongs to shard %d, %v", object, i, s)
	}
	for _, bad := range []string{"", "{}", `{"Cluster":"a","Shards":[{}]}`, `{"Cluster":"a","Voters":["a"],"Shards":[{}],"Members":[{"ID":"a"},{"ID":"a"}]}`} {
		if v, err := DecodeView([]byte(bad)); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%s is %v, %v", bad, v, err)
		}
	}
}

func TestYounger(t *testing.T) {
	for _, c := range []struct {
		id, than phalanx.NodeID
		want     bool
	}{{"a#2", "a#1", true}, {"a#1", "a#2", false}, {"a#1", "a#1", false}, {"a#10", "a#f", true}} {
		if got := younger(c.id, c.than); got != c.want {
			t.Errorf("younger(%s, %s) is %v", c.id, c.than, got)
		}
	}
}

// TestOtherClustersAreKeptApart has a node of another cluster at a known address.
func TestOtherClustersAreKeptApart(t *testing.T) {
	one, two := newNetwork(Config{}), newNetwork(Config{})
	one.boot("a#1")
	two.boot("b#1")
	a, b := one.node("a#1"), two.node("b#1")
	before := EncodeView(a.View())
	data := seal(View{Cluster: "b#1"}, &raftpb.Message{Type: raftpb.MsgVote.Enum(), From: new(raftID("b#1")), To: new(raftID("a#1")), Term: new(uint64(9))})
	for _, ev := range []Event{Receive{From: "b#1", Data: data}, Learn{From: "b#1", Term: 9, View: b.View()}} {
		out := a.Step(ev)
		if len(out) != 1 {
			t.Fatalf("%T: %v", ev, out)
		}
		if r, ok := out[0].(Reject); !ok || !errors.Is(r.Err, phalanx.ErrInvalid) {
			t.Errorf("%T: %v", ev, out)
		}
	}
	if !bytes.Equal(EncodeView(a.View()), before) || a.lead == nil {
		t.Error("the view changed")
	}
}

// TestFiveVoters says that the number of voters stays odd while a cluster grows.
func TestFiveVoters(t *testing.T) {
	w := newNetwork(Config{Voters: 5})
	w.boot("n1#1")
	for i, want := range []int{1, 3, 3, 5, 5, 5} {
		w.join(phalanx.MakeNodeID(string(rune('a'+i)), 1), "n1#1")
		w.run(time.Second)
		if got := len(w.newest().Voters); got != want {
			t.Errorf("%d members have %d voters, not %d", i+2, got, want)
		}
	}
}

// TestTwoOfFiveVotersDie says that a cluster goes on in which the leader of five voters and
// another one die at once.
func TestTwoOfFiveVotersDie(t *testing.T) {
	w := newNetwork(Config{Shards: 4})
	w.boot("n0#1")
	for i := 1; i < 7; i++ {
		w.join(phalanx.MakeNodeID(fmt.Sprint("n", i), 1), "n0#1")
	}
	w.sync = true
	w.run(time.Second)
	v := w.newest()
	if len(v.Voters) != 5 || w.node("n0#1").lead == nil {
		t.Fatalf("%v", v)
	}
	dead := []phalanx.NodeID{"n0#1", v.Voters[1]}
	for _, id := range dead {
		w.node(id).dead = true
	}
	for _, n := range w.live() {
		for _, id := range dead {
			w.broken(n.id, id)
			w.propose(n.id, RemoveMember{Node: id, Dead: true})
		}
	}
	w.run(time.Second)
	if v := w.newest(); len(v.Members) != 5 || len(v.Voters) != 3 {
		t.Errorf("%v", v)
	}
}

// TestLogIsCompacted says that the log does not grow with what was decided.
func TestLogIsCompacted(t *testing.T) {
	w := newNetwork(Config{Shards: 2, CompactEvery: 16})
	w.boot("a#1")
	w.join("b#1", "a#1")
	w.join("c#1", "a#1")
	w.sync = true
	w.run(time.Second)
	for range 200 {
		s := w.newest().Shards[0]
		w.propose(s.Owner, Drop{Shard: 0, Epoch: s.Epoch, Node: s.Backup})
		w.run(50 * time.Millisecond)
	}
	if n := w.newest().Number; n < 400 {
		t.Fatalf("only %d views were decided", n)
	}
	for _, n := range w.nodes {
		first, err := n.voter.log.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if kept := n.voter.last() - first; kept > 40 {
			t.Errorf("%s keeps %d entries", n.id, kept)
		}
	}
}

// FuzzReceive gives a voter arbitrary bytes, as they are and with a checksum
// that makes them look right. No input may make it panic, and what it rejects
// must change nothing.
func FuzzReceive(f *testing.F) {
	seen := 0
	fuzzed(func(_ *node, ev Event) {
		if r, ok := ev.(Receive); ok && seen < 200 {
			seen++
			f.Add(r.Data[envelope:], true)
		}
	})
	f.Add([]byte("nonsense"), false)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		w := fuzzed(nil)
		m := new(raftpb.Message)
		if sealed && proto.Unmarshal(data, m) == nil {
			data = seal(View{Cluster: "a#1"}, m)
		}
		for _, n := range slices.Clone(w.nodes) {
			for _, from := range w.nodes {
				before := EncodeView(n.View())
				out := n.Step(Receive{From: from.id, Data: data, Now: w.now})
				if len(out) == 1 {
					if _, ok := out[0].(Reject); ok && !bytes.Equal(before, EncodeView(n.View())) {
						t.Errorf("%v, but the view changed", out[0])
					}
				}
			}
		}
		w.run(time.Second)
	})
}

// fuzzed returns a cluster of three, which tell is told about while it grows.
func fuzzed(tell func(*node, Event)) *network {
	w := newNetwork(Config{Shards: 2})
	if tell != nil {
		w.onStep = func(n *node, ev Event, _ []Effect) { tell(n, ev) }
	}
	w.boot("a#1")
	w.join("b#1", "a#1")
	w.join("c#1", "a#1")
	w.run(100 * time.Millisecond)
	return w
}

// A successor has a majority at once, but what it has not agreed on with it may have been
// decided already. While its entries do not arrive nobody has a lease, neither itself nor
// one to which it would give one on its own view.
func TestNoLeaseBeforeTheSuccessorKnowsWhatWasDecided2_4(t *testing.T) {
	w := newNetwork(Config{Shards: 4})
	w.boot("a#1")
	for _, id := range []phalanx.NodeID{"b#1", "c#1", "d#1"} {
		w.join(id, "a#1")
	}
	w.run(time.Second)
	w.node("a#1").dead = true
	w.swallow = func(from phalanx.NodeID, e Effect) bool {
		s, ok := e.(Send)
		return ok && from == "b#1" && strings.HasPrefix(Describe(s.Data), "App ")
	}
	w.run(300 * time.Millisecond)
	w.broken("b#1", "a#1")
	w.run(600 * time.Millisecond)
	if leader := w.node("c#1").Leader(); leader != "b#1" {
		t.Fatalf("%q leads", leader)
	}
	for _, n := range w.live() {
		if n.lease > w.now {
			t.Errorf("%s has a lease for %v", n.id, n.lease-w.now)
		}
	}
	w.swallow = nil
	w.run(300 * time.Millisecond)
	for _, n := range w.live() {
		if n.lease <= w.now {
			t.Errorf("%s has no lease", n.id)
		}
	}
}

// A reply counts only if it can be the leader's to a heartbeat of this node, and there is
// no later leader.
func TestRepliesThatGiveNoLease(t *testing.T) {
	w := newNetwork(Config{Shards: 1})
	w.boot("a#1")
	w.join("b#1", "a#1")
	w.run(time.Second)
	b := w.node("b#1")
	w.cut[[2]phalanx.NodeID{"a#1", "b#1"}] = true
	w.run(time.Second)
	now, number := w.now, b.View().Number
	good := Reply{Term: b.term, View: number, Stamp: now - time.Millisecond, Valid: 200 * time.Millisecond}
	for _, c := range []struct {
		what string
		from phalanx.NodeID
		bad  func(*Reply)
	}{
		{"of an older leader", "a#1", func(r *Reply) { r.Term-- }},
		{"to a heartbeat that is yet to be sent", "a#1", func(r *Reply) { r.Stamp = now + time.Millisecond }},
		{"for longer than a lease", "a#1", func(r *Reply) { r.Valid = 301 * time.Millisecond }},
		{"on a newer view", "a#1", func(r *Reply) { r.View++ }},
		{"of a node that is no member", "x#1", func(*Reply) {}},
		{"that has ended", "a#1", func(r *Reply) { r.Stamp = now - 200*time.Millisecond }},
	} {
		r := good
		c.bad(&r)
		w.step(b, func(now time.Duration) Event { return HearReply{From: c.from, Reply: r, Now: now} })
		if b.lease > now {
			t.Fatalf("a lease for %v by a reply %s", b.lease-now, c.what)
		}
	}
	w.step(b, func(now time.Duration) Event { return HearReply{From: "a#1", Reply: good, Now: now} })
	if b.lease != now+199*time.Millisecond {
		t.Errorf("a lease until %v after %v", b.lease, now)
	}
	w.step(b, func(now time.Duration) Event {
		r := good
		r.Stamp -= 10 * time.Millisecond
		return HearReply{From: "a#1", Reply: r, Now: now}
	})
	if b.lease != now+199*time.Millisecond {
		t.Errorf("a reply that comes late has the lease end at %v, after %v", b.lease, now)
	}
}

// Any member gives its view to one that has an older one: the leader may be gone.
func TestWhoIsBehindIsGivenTheView(t *testing.T) {
	w := newNetwork(Config{Shards: 1})
	w.boot("a#1")
	w.join("b#1", "a#1")
	w.join("c#1", "a#1")
	w.run(time.Second)
	b := w.node("b#1")
	for _, c := range []struct {
		from phalanx.NodeID
		view uint64
		want int
	}{{"c#1", b.View().Number - 1, 1}, {"c#1", b.View().Number, 0}, {"x#1", b.View().Number, 1}} {
		out := b.Step(HearBeat{From: c.from, Beat: Beat{View: c.view}, Now: w.now})
		pushed := 0
		for _, e := range out {
			if p, ok := e.(Push); ok && p.To == c.from && p.View.Number == b.View().Number {
				pushed++
			}
		}
		if pushed != c.want {
			t.Errorf("%s, which has view %d, is given the view %d times, not %d: %v", c.from, c.view, pushed, c.want, out)
		}
	}
}
