package transfer_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// Owner and backup of a shard are lost, and with them the sender of a receiver that has a
// prefix of a final object. The new owner, which has not heard from all members, answers its
// Locate "waits; unbound". The receiver must keep its prefix: d has all of that generation,
// and tells so a moment later.
func TestPrefixOutlivesTheRebuildOfAShard(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	r := transfer.NewReceiver(transfer.Config{Self: "e", Object: "x", Room: 100, FirstNum: 1})
	now := time.Duration(0)
	step := func(ev transfer.Event) (out []transfer.Effect) { now += time.Millisecond; return r.Step(now, ev) }
	step(transfer.Want{Caller: 1, Wait: true})
	opened := step(transfer.Answered{Num: 1, Gen: gen, Meta: phalanx.Meta{Size: 100}, State: transfer.Finished, Lease: 1<<32 | 1, Sender: "a"})
	var stream, num uint64
	for _, e := range opened {
		if o, ok := e.(transfer.Open); ok {
			stream = o.Stream
		}
	}
	for _, e := range step(transfer.Ended{Stream: stream, Why: transfer.Broken, Held: 90}) {
		if l, ok := e.(transfer.Locate); ok {
			num = l.Num
		}
	}

	// The new owner c, rebuilt, is asked before d has told.
	s := directory.New(directory.Config{Self: "c"})
	members := []phalanx.NodeID{"c", "d", "e"}
	var effects []directory.Effect
	run := func(ev directory.Event) {
		todo := s.Step(now, ev)
		for len(todo) > 0 {
			e := todo[0]
			todo = todo[1:]
			effects = append(effects, e)
			if rep, ok := e.(directory.SendReplicate); ok { // the backup has it at once
				last := rep.First + uint64(len(rep.Changes)) - 1
				todo = append(todo, s.Step(now, directory.Confirm{From: "d", Epoch: rep.Epoch, Stream: rep.Stream, Seq: last})...)
			}
		}
	}
	s.Step(now, directory.Lease{Until: time.Hour})
	run(directory.Configure{Epoch: 3, Number: 2, Owner: "c", Backup: "d", Members: members, LostAt: 3})
	run(directory.Holdings{From: "e", Epoch: 3, End: true, Holdings: []directory.Holding{{Object: "x", Gen: gen, Begun: true}}})
	run(directory.Request{From: "e", Num: num, Object: "x", Epoch: 3, Body: directory.Locate{Room: 100, Wait: true}})
	for _, e := range effects {
		a, ok := e.(directory.Reply)
		if !ok || a.Num != num {
			continue
		}
		t.Logf("the owner answers %+v", a.Result)
		for _, e := range step(transfer.Answered{Num: num, Kind: a.Result.Kind, Waiting: a.Result.Waiting, State: transfer.State(a.Result.State), Gen: a.Result.Gen}) {
			t.Logf("the receiver: %T%+v", e, e)
			if c, ok := e.(transfer.Clear); ok {
				t.Errorf("it drops 90 of 100 bytes (%v), and who reads them ends", c.Kind)
			}
		}
	}
}
