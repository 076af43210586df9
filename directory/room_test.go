package directory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/owner"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

type outbox struct {
	sent []any
	err  error
}

func (o *outbox) Send(_ phalanx.NodeID, _ int, v any) error {
	o.sent = append(o.sent, v)
	return o.err
}

// full is the only replica of a shard on a node with so much memory.
func full(memory int64) (s *shard, now *time.Duration, out *outbox, budget *dataplane.Budget, pressed *int64) {
	now, out, budget, pressed = new(time.Duration), &outbox{}, dataplane.NewBudget(memory), new(int64)
	budget.OnPressure(func(need int64) { *pressed += need })
	s = &shard{host: NewHost(HostConfig{Self: "a", Transport: out, Memory: budget, Now: func() time.Duration { return *now },
		Publish: func(any) {}})}
	s.core = core.New(core.Config{Self: "a", InlineLimit: 1 << 16})
	s.step(core.Configure{Epoch: 1, Owner: "a", Members: []phalanx.NodeID{"a"}})
	s.step(core.Lease{Until: time.Hour})
	s.step(core.Holdings{From: "a", Epoch: 1, Round: 1, End: true})
	return s, now, out, budget, pressed
}

func inline(num uint64, id phalanx.ObjectID, n int) core.Request {
	b := make([]byte, n)
	return core.Request{From: "a", Num: num, Object: id, Body: core.PutInline{Meta: phalanx.Meta{Size: int64(n)}, Digest: dataplane.DigestBytes(b), Bytes: b, Held: true}}
}

// ask is what Receive does with a request, without timers.
func (s *shard) ask(r core.Request) bool {
	in := s.room(r)
	if in {
		s.step(r)
	}
	return in
}

func TestAnOwnerWithoutRoomMakesSomeOrSaysSo1_9(t *testing.T) {
	s, now, out, budget, pressed := full(10_000)
	for range 2 { // and a repeat
		if !s.ask(inline(1, "x", 4000)) {
			t.Fatal("there is room")
		}
	}
	one := budget.Used()
	if one < 4000 || one > 6000 || s.host.Memory() != one {
		t.Fatalf("%d bytes are reserved, %d said to be", one, s.host.Memory())
	}
	if !budget.TryReserve(10_000 - one) { // the rest is somebody else's
		t.Fatal("there is no rest")
	}
	out.sent = nil
	for ; *now < owner.RoomPatience; *now += owner.RoomPatience / 4 {
		if s.ask(inline(2, "y", 4000)) || len(out.sent) > 0 {
			t.Fatalf("it was let in, or answered %v after %v", out.sent, *now)
		}
	}
	if *pressed != 4*one {
		t.Errorf("it pressed for %d bytes in all", *pressed)
	}
	if s.ask(inline(2, "y", 4000)) || len(out.sent) != 1 {
		t.Fatalf("it sent %v", out.sent)
	}
	r := out.sent[0].(core.Reply).Result
	if !errors.Is(r.Kind, phalanx.ErrNoSpace) {
		t.Errorf("%v", r.Kind)
	}
	for _, says := range []string{"the owner a", "0 of 10000 are free", "bytes are needed"} {
		if !strings.Contains(r.Text, says) {
			t.Errorf("%q does not say %q", r.Text, says)
		}
	}

	if budget.Used() != 10_000 || s.host.Memory() != one || s.wanted.Waiting() != 0 {
		t.Errorf("%d bytes are reserved, %d said to be, after one was turned away; %d are waited for", budget.Used(), s.host.Memory(), s.wanted.Waiting())
	}

	// What needs no room is let in: repeats, other requests, and a delete makes some.
	if !s.ask(inline(1, "x", 4000)) || !s.ask(core.Request{From: "a", Num: 3, Object: "x", Body: core.Locate{}}) {
		t.Error("it was kept out")
	}
	if !s.ask(core.Request{From: "a", Num: 4, Object: "x", Body: core.Delete{Gen: phalanx.Generation{Epoch: 9}}}) {
		t.Error("a delete was kept out")
	}
	if !s.ask(inline(5, "y", 3000)) {
		t.Error("there is room again")
	}
	if used := budget.Used() - (10_000 - one); used != s.host.Memory() || used > 5000 {
		t.Errorf("%d bytes are reserved, %d said to be", used, s.host.Memory())
	}
	s.count(-s.held)
	if budget.Used() != 10_000-one || s.host.Memory() != 0 {
		t.Errorf("%d bytes are left", budget.Used()-(10_000-one))
	}
}

// What an owner has accepted its backup takes, and others wait for as much.
func TestABackupMayExceedTheCap1_9(t *testing.T) {
	s, _, _, budget, pressed := full(10_000)
	if !budget.TryReserve(10_000) {
		t.Fatal("there is no room")
	}
	s.step(core.Configure{Epoch: 2, Owner: "o", Backup: "a", Members: []phalanx.NodeID{"a", "o"}})
	s.step(core.Replicate{From: "o", Epoch: 2, Stream: 2, First: 1, Changes: []core.Change{{End: true},
		{Record: core.Record{Object: "x", State: core.Finished, Gen: phalanx.Generation{Epoch: 2, Seq: 1}, Inline: true, Bytes: make([]byte, 3000)}}}})
	over := budget.Used() - 10_000
	if over < 3000 || over != s.host.Memory() || *pressed != over || budget.Missing() != over {
		t.Errorf("%d bytes over the cap, %d held, %d pressed for, %d missing", over, s.host.Memory(), *pressed, budget.Missing())
	}
	s.step(core.Replicate{From: "o", Epoch: 2, Stream: 2, First: 3, Changes: []core.Change{{Record: core.Record{Object: "x", Gen: phalanx.Generation{Epoch: 2, Seq: 1}}}}})
	if budget.Used() != 10_000 {
		t.Errorf("%d bytes are reserved after it was forgotten", budget.Used())
	}
}

// An answer that no connection takes is replaced by one that says so.
func TestAnAnswerThatCannotBeSent(t *testing.T) {
	s, _, out, _, _ := full(10_000)
	out.sent, out.err = nil, &phalanx.Error{Op: "send", Node: "a", Kind: phalanx.ErrInvalid, Err: errors.New("it has 9 bytes")}
	s.ask(core.Request{From: "a", Num: 1, Object: "x", Body: core.Stat{}})
	if len(out.sent) != 2 {
		t.Fatalf("it sent %+v", out.sent)
	}
	if r := out.sent[1].(core.Reply); r.Num != 1 || r.Result.Kind != phalanx.ErrInvalid || !strings.Contains(r.Result.Text, "it has 9 bytes") {
		t.Errorf("it answered %+v", r)
	}
}
