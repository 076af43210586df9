package directory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// narrow is a transport that refuses what is longer than limit.
type narrow struct {
	limit   int
	sent    []any
	refused int
}

func (n *narrow) Send(_ phalanx.NodeID, _ int, v any) error {
	weight := 0
	switch v := v.(type) {
	case core.Replicate:
		for _, c := range v.Changes {
			weight += c.Weight()
		}
	case core.Holdings:
		for i := range v.Holdings {
			weight += v.Holdings[i].Weight()
		}
	}
	if weight > n.limit {
		n.refused++
		return &phalanx.Error{Object: core.Subject(v), Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%d bytes", weight)}
	}
	n.sent = append(n.sent, v)
	return nil
}

// An owner whose change cannot be sent to the backup turns it away at once, with the
// object and the size, and goes on with the next one.
func TestAChangeThatCannotBeSentFails(t *testing.T) {
	now, out := time.Duration(0), &narrow{limit: 1000}
	s := &shard{host: NewHost(HostConfig{Self: "a", Transport: out, Memory: nothing{}, Now: func() time.Duration { return now }, Publish: func(any) {},
		CaughtUp: func(int, uint64, phalanx.NodeID) {}})}
	s.core = core.New(core.Config{Self: "a", InlineLimit: 1 << 16})
	s.step(core.Configure{Epoch: 1, Owner: "a", Backup: "b", Members: []phalanx.NodeID{"a", "b"}})
	s.step(core.Lease{Until: time.Hour})
	confirm := func() {
		for _, v := range out.sent {
			if r, ok := v.(core.Replicate); ok {
				s.step(core.Confirm{From: "b", Epoch: 1, Stream: r.Stream, Seq: r.First + uint64(len(r.Changes)) - 1})
			}
		}
	}
	confirm()
	for _, n := range []phalanx.NodeID{"a", "b"} {
		s.step(core.Holdings{From: n, Epoch: 1, Round: 1, End: true})
	}
	s.step(inline(1, "long", 5000))
	s.step(inline(2, "short", 10))
	confirm()
	now += time.Minute
	s.step(core.Tick{})
	var answers []string
	for _, v := range out.sent {
		if r, ok := v.(core.Reply); ok {
			answers = append(answers, fmt.Sprint(r.Object, " ", r.Result.State, " ", r.Result.Text))
		}
	}
	if len(answers) != 2 || !strings.Contains(answers[0], "long unbound") || !strings.Contains(answers[0], "bytes") || answers[1] != "short final " {
		t.Errorf("answered is %q", answers)
	}
	if out.refused != 1 {
		t.Errorf("%d attempts to send it", out.refused)
	}
}

// A node with a copy that it cannot tell of tells of the others, and of the end.
func TestAHoldingThatCannotBeToldIsLeftOut(t *testing.T) {
	for _, long := range [][]int{nil, {0}, {3}, {9}, {0, 1, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var all []core.Holding
		var want []phalanx.ObjectID
		for i := range 10 {
			h := core.Holding{Object: phalanx.ObjectID(fmt.Sprint("o", i)), Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Tag: "t"}
			if slices.Contains(long, i) {
				h.Note = make([]byte, 20_000)
			} else {
				want = append(want, h.Object)
			}
			all = append(all, h)
		}
		now, out := time.Duration(0), &narrow{limit: 10_000}
		r := NewReporter("n", out, func() time.Duration { return now }, func() uint64 { return 1 }, func([]bool) [][]core.Holding { return [][]core.Holding{slices.Clone(all)} })
		r.Learn(view.View{Number: 1, Shards: []view.Shard{{Owner: "o", Epoch: 1}}})
		for round := range 3 {
			out.sent = nil
			r.tell()
			var told []phalanx.ObjectID
			for part, v := range out.sent {
				h := v.(core.Holdings)
				for _, c := range h.Holdings {
					told = append(told, c.Object)
				}
				if h.Part != uint64(part) || h.End != (part == len(out.sent)-1) {
					t.Errorf("%v: part %d is %d, end: %v", long, part, h.Part, h.End)
				}
			}
			if !slices.Equal(told, want) {
				t.Errorf("%v: told are %v", long, told)
			}
			if round > 0 && out.refused > 0 {
				t.Errorf("%v: it is tried again", long)
			}
			out.refused = 0
			now += time.Minute
		}
	}
}

type nothing struct{}

func (nothing) TryReserve(int64) bool  { return true }
func (nothing) ReserveNow(int64) error { return nil }
func (nothing) Force(int64)            {}
func (nothing) Press(int64)            {}
func (nothing) Release(int64)          {}
func (nothing) Last(_, _ int64)        {}

// That one generation of an object could not be told of says nothing about the next.
func TestTheNextGenerationOfWhatWasLeftOutIsTold(t *testing.T) {
	now, out := time.Duration(0), &narrow{limit: 10_000}
	h := core.Holding{Object: "o", Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Tag: "t", Note: make([]byte, 20_000)}
	r := NewReporter("n", out, func() time.Duration { return now }, func() uint64 { return 1 }, func([]bool) [][]core.Holding { return [][]core.Holding{{h}} })
	r.Learn(view.View{Number: 1, Shards: []view.Shard{{Owner: "o", Epoch: 1}}})
	r.tell()
	now += time.Minute
	h.Gen.Seq, h.Note = 2, nil
	r.tell()
	if out.refused != 1 || len(out.sent) != 2 || len(out.sent[1].(core.Holdings).Holdings) != 1 {
		t.Errorf("%+v", out.sent)
	}
}
