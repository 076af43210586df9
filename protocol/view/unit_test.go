package view

import (
	"bytes"
	"errors"
	"slices"
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
		AddMember{Member{ID: "a#1", Control: "h:1", Data: "h:2", Version: "v1", Features: []string{"x"}}},
		RemoveMember{Node: "a#1", Dead: true},
		Leaving{Node: "a#1"},
		InSync{Shards: []Synced{{Shard: 3, Epoch: 4, Node: "b#2"}}},
		Drop{Shard: 1, Epoch: 2, Node: "c#3"},
	} {
		data := EncodeCommand(cmd)
		back, err := DecodeCommand(data)
		if err != nil || !bytes.Equal(EncodeCommand(back), data) || back.String() != cmd.String() {
			t.Errorf("%v came back as %v, %v", cmd, back, err)
		}
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"Drop":{}}`, `{"Add":{"Member":{"ID":"#1"}}}`, `{"Leave":{"Node":"a"},"Remove":{"Node":"a"}}`} {
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
	data := seal("b#1", &raftpb.Message{Type: raftpb.MsgVote.Enum(), From: new(raftID("b#1")), To: new(raftID("a#1")), Term: new(uint64(9))})
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
			data = seal("a#1", m)
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
