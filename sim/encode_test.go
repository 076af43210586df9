package sim

import (
	"reflect"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// crossing returns the message that arrives when m is sent, and the simulator's complaint, if any.
func crossing(m any) (got any, wrong string) {
	defer func() {
		if v, ok := recover().(violation); ok {
			wrong = v.text
		}
	}()
	w := &world{}
	return w.encode("a#1", "b#2", m)(), ""
}

func TestWhatArrivesIsWhatWasSent(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	for _, m := range []any{
		toShard{3, directory.Request{From: "a#1", Num: 1, Object: "x", Body: directory.Evict{Gen: gen}}},
		toClient{directory.Reply{To: "b#2", Num: 1, Object: "x", Result: directory.Result{Gen: gen}}},
		toHolder{3, directory.Push{To: "b#2", Object: "x", Gen: gen}},
		toWatcher{3, directory.Readiness{To: "b#2", Object: "x", Bytes: []byte("y")}},
		ackHoldings{3, 4},
		askLease{3, "x", 5, true},
		toView{[]byte("raft")},
		pushView{4, view.View{Number: 1, Cluster: "c", Members: []view.Member{{ID: "a#1", Control: "-", Data: "-"}}, Voters: []phalanx.NodeID{"a#1"},
			Shards: []view.Shard{{Epoch: 1, Owner: "a#1"}}}},
		beat{view.Beat{View: 3}},
		reply{view.Reply{View: 3, Term: 4}},
		forward{true, view.RemoveMember{Node: "c#3"}},
		carried{from: "a#1", to: "c#3", message: forward{false, view.Leaving{Node: "a#1"}}},
		carried{from: "c#3", to: "b#2", message: toView{[]byte("raft")}, brought: true},
		carried{from: "a#1", to: "c#3", message: ackHoldings{3, 4}},
		accusation{"c#3", 1, 5},
		order{"a#1/7", reduce.Inspect{Node: "b#2", Target: "t", Reduce: gen, Attempt: 1}},
		report{reader{placeKey{Target: "t", Reduce: gen, Place: 1}, 7}, reduce.Stopped{Place: 1, Node: "a#1", Gen: reduce.PlaceGen{Attempt: 1, Seq: 1}}},
	} {
		if got, wrong := crossing(m); wrong != "" || !reflect.DeepEqual(got, m) {
			t.Errorf("%T: sent %+v, got %+v: %s", m, m, got, wrong)
		}
	}
}

func TestWhatIsTooLongFailsTheRun(t *testing.T) {
	for _, c := range []struct {
		m    any
		says string
	}{
		{toWatcher{0, directory.Readiness{To: "b#2", Object: "x", Bytes: make([]byte, wire.MaxMessage)}}, "at most 1048576"},
		{toView{make([]byte, wire.MaxControl)}, "at most 8388608"},
		{toClient{directory.Reply{To: "b#2", Object: "\xff"}}, "UTF-8"},
		{struct{ data []byte }{}, "does not know it"},
	} {
		if _, wrong := crossing(c.m); !strings.Contains(wrong, c.says) {
			t.Errorf("%T: %q does not say %q", c.m, wrong, c.says)
		}
	}
}
