package messages

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

var (
	aKey    = barrier.Key{Name: "b", Generation: 7}
	anEntry = barrier.Entry{Host: "h", Label: "l"}
	aConfig = barrier.Config{Max: 3, Timeout: 1, Percent: 2, MinWait: 3, Late: barrier.CatchUp, Expect: []string{"x", "y", "z"}, Callback: true, CallbackTimeout: 4, Double: true,
		Knee: barrier.Knee{Percent: 5, Time: 6}, Throttle: barrier.Throttle{Count: 8, Period: 9}}
	aThrottle  = barrier.Config{Max: 3, Throttle: barrier.Throttle{Percent: 7, Period: 9}}
	aSemaphore = barrier.Config{Max: 4, Semaphore: barrier.Semaphore{Count: 10, Timeout: 11, Adaptive: true, Cap: 12}}
	anAsking   = barrier.Config{Semaphore: barrier.Semaphore{Count: 10, Callback: true}}
	anAsked    = barrier.Asked{Ask: 1, Entry: anEntry, WouldRelease: true, Knee: true, Releasing: true, Suggest: 2}
	aStanding  = barrier.Standing{N: 1, Max: 2, Absent: []string{"x"}, Cause: barrier.ByKnee, Holders: []barrier.Entry{anEntry}, Inside: []string{"y"}}
	anOp       = barrier.Op{Kind: barrier.OpVerdict, At: 1, Entry: anEntry, Node: "n#1", Attempt: 2, Holds: true, Ask: 3, Yes: true, N: 4}
	aReached   = barrier.Reached{Key: aKey, Config: aConfig, Requests: []barrier.Request{{Entry: anEntry, Attempt: 1, Release: true, Holds: true, Waits: true, Ago: 4, Leave: true}}, Watch: true, Unwatch: true, Stamp: 3}
	aHappened  = barrier.Happened{What: barrier.HolderExpired, Entry: anEntry, Cause: barrier.ByMax, N: 1, Max: 2, Absent: []string{"a"}, Lost: []string{"l"}, After: 3, Missing: 4}
	aState     = barrier.State{Now: 1, Begun: true, Began: 2, Units: 3, Queue: []barrier.Entry{anEntry}, Cause: barrier.ByTimeout, FiredAt: 4, Fired: 5, Next: 6, Watcher: "w#1",
		Entrances: []barrier.Entrance{{Entry: anEntry, Nodes: []phalanx.NodeID{"n#1"}, Tries: []uint64{6}, Attempt: 7, Phase: barrier.Expired, Late: true, Passed: true, Since: 8, Leaving: true}},
		Asks:      []barrier.Asking{{Asked: anAsked, Due: 9}}, LastAsk: 10, AskedAt: 11, Enough: true, Detector: barrier.Detector{Arrivals: 12, Arr: 1.5, Arrvar: 2.5, Open: true},
		Adaptive: barrier.Adaptive{Level: 13, Took: []time.Duration{14}, Since: 15}, Holders: []barrier.Entry{anEntry}, Swept: 16, Late: 77, Doubt: true, Anew: 21,
		Removals: []barrier.Removal{{Node: "n#1", Attempt: 17, At: 18}}, Tombs: []barrier.Tomb{{Entry: anEntry, Node: "n#1", Attempt: 19, Verdict: barrier.Deleted, At: 20}}}
	letters = []barrier.Message{
		aReached,
		barrier.Reached{Key: aKey, Config: aThrottle},
		barrier.Reached{Key: aKey, Config: aSemaphore},
		barrier.Reached{Key: aKey, Config: anAsking},
		barrier.Answers{Key: aKey, Term: 1, List: []barrier.Answered{{Entry: anEntry, Attempt: 1, Verdict: barrier.Mismatch, Left: 2, Old: true}}, Standing: aStanding, Watched: true, Unknown: true, More: true, Stamp: 4, Field: "Max", Batch: 5, Awaits: []phalanx.NodeID{"n1#1"}},
		barrier.Question{Key: aKey, Term: 1, Asked: []barrier.Asked{anAsked}},
		barrier.Question{Key: aKey, Term: 1, Asked: []barrier.Asked{{Ask: 1}, {Ask: 2}}},
		barrier.Notify{Key: aKey, Term: 1, Happened: aHappened},
		barrier.Reply{Key: aKey, Ask: 1, Yes: true, N: 2},
		barrier.WhoPassed{Key: aKey, ID: 1, After: anEntry, Brief: true},
		barrier.Passed{Key: aKey, ID: 1, Term: 2, Known: true, Hosts: map[string][]string{"h": {"l"}, "i": nil}, Standing: aStanding, After: anEntry, Anew: true, Over: true, Last: anEntry},
		barrier.Replicate{Key: aKey, Config: aConfig, Term: 1, Seq: 2, Stamp: 3, State: &aState, From: 4, Total: 5, Ops: []barrier.Op{anOp}},
		barrier.Replicate{Key: aKey, Term: 1, Seq: 2, Ops: []barrier.Op{{Kind: barrier.OpAdvance, At: 1}}},
		barrier.Confirm{Key: aKey, Term: 1, Seq: 2, Need: true, Have: 3, Stamp: 4, Fired: []phalanx.NodeID{"n#1"}},
		barrier.Over{Num: 1, View: 4, Anew: []uint64{5}, Crowds: []barrier.Crowd{{Nodes: []phalanx.NodeID{"n#1"}, Late: barrier.CatchUp, Digests: []uint64{2}, Places: []uint32{3}}}},
		barrier.Remove{Key: aKey, ID: 1},
		barrier.Removed{Key: aKey, ID: 1, Known: true},
		barrier.OverKnown{Num: 1},
		barrier.Gather{Term: 1, Stamp: 2, Said: 4, Part: 3},
		barrier.Gathered{Term: 1, Part: 1, More: true, Stamp: 3, Said: 4, Replicas: []barrier.Held{{Key: aKey, Config: aConfig, Primary: "p#1", Term: 1, Seq: 2, State: aState, From: 4, Total: 5, Age: 3}}, Reached: []barrier.Reached{aReached}},
		barrier.Refused{Term: 1},
		barrier.WhoOpened{Key: aKey, Stamp: 1},
		barrier.Opened{Key: aKey, Term: 1, Stamp: 2, Config: aConfig, Fired: true, Late: barrier.CatchUp},
		barrier.Opened{Key: aKey, Term: 1, Stamp: 2},
		barrier.Forget{Key: aKey, Term: 1},
	}
)

// Every message crosses, with every field: one that is new and not converted is
// found, as the first of its type sets all.
func TestBarrierLettersCross(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, m := range letters {
		if typ := reflect.TypeOf(m); !seen[typ] {
			seen[typ] = true
			complete(t, typ.Name(), reflect.ValueOf(m))
		}
		from, to, got, err := BarrierFromProto(wire(t, BarrierToProto("a#1", "b#2", m)))
		if err != nil || from != "a#1" || to != "b#2" || !reflect.DeepEqual(got, m) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, m)
		}
	}
	all := []barrier.Seen{{Key: aKey, Config: aConfig, Managers: []phalanx.NodeID{"m#1"}, Standing: aStanding, Entrances: aState.Entrances, More: 1, Since: 2, Knee: 3, Level: 4, Holding: 5, Watcher: "w#1"}}
	complete(t, "Seen", reflect.ValueOf(all[0]))
	if got, err := BarriersSeenFromProto(wire(t, BarriersSeenToProto(all))); err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, all)
	}
}

// optional are fields that exclude others: no value has all.
var optional = map[string]bool{"Config.Semaphore": true, "Throttle.Percent": true, "Expanded.Graph": true, "Expanded.Work": true,
	"Report.Work": true, "Located.Off": true, "Order.Local": true, "Order.From": true, "Order.Off": true, "Order.Result": true}

// complete checks that every field is set.
func complete(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		complete(t, name, v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty", name)
			return
		}
		complete(t, name, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Name() + "." + v.Type().Field(i).Name
			if !optional[field] {
				complete(t, field, v.Field(i))
			}
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is not set", name)
		}
	}
}

// What no node sends is refused by the name of the field, and nothing panics.
func TestBadBarrierLetters(t *testing.T) {
	bad := func(change func(*BarrierLetter), m barrier.Message) *BarrierLetter {
		l := proto.CloneOf(BarrierToProto("a#1", "b#2", m))
		change(l)
		return l
	}
	replicate := letters[11]
	for name, l := range map[string]*BarrierLetter{
		"nobody":     bad(func(l *BarrierLetter) { l.From = "" }, letters[0]),
		"nothing":    {From: "a#1", To: "b#2"},
		"no key":     bad(func(l *BarrierLetter) { l.GetForget().Key = nil }, barrier.Forget{Key: aKey}),
		"no config":  bad(func(l *BarrierLetter) { l.GetReached().Config = nil }, letters[0]),
		"percent":    bad(func(l *BarrierLetter) { l.GetReached().Config.Percent = 101 }, letters[0]),
		"no entry":   bad(func(l *BarrierLetter) { l.GetReached().Requests[0].Entry = nil }, letters[0]),
		"verdict":    bad(func(l *BarrierLetter) { l.GetAnswers().List[0].Verdict = 99 }, letters[4]),
		"op":         bad(func(l *BarrierLetter) { l.GetReplicate().Ops[0].Kind = 99 }, replicate),
		"enter whom": bad(func(l *BarrierLetter) { o := l.GetReplicate().Ops[0]; o.Kind, o.Entry = uint32(barrier.OpEnter), nil }, replicate),
		"from":       bad(func(l *BarrierLetter) { l.GetReplicate().From = -1 }, replicate),
		"units":      bad(func(l *BarrierLetter) { l.GetReplicate().State.Units = -1 }, replicate),
		"places": bad(func(l *BarrierLetter) { l.GetOver().Crowds[0].Places = nil },
			barrier.Over{Crowds: []barrier.Crowd{{Nodes: []phalanx.NodeID{"n#1"}, Digests: []uint64{2}, Places: []uint32{3}}}}),
		"opened":     bad(func(l *BarrierLetter) { l.GetOpened().Config.Max = 0 }, barrier.Opened{Key: aKey, Config: barrier.Config{Max: 1}}),
		"who opened": bad(func(l *BarrierLetter) { l.GetWhoOpened().Key.Name = "" }, barrier.WhoOpened{Key: aKey}),
		"phase":      bad(func(l *BarrierLetter) { l.GetReplicate().State.Entrances[0].Phase = 77 }, replicate),
	} {
		if _, _, m, err := BarrierFromProto(wire(t, l)); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
