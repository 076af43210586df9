package messages

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	limits "github.com/phalanx-go/phalanx/internal/wire"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// The directory's core cuts what it sends by weights, since it knows no encoding.
func TestNothingIsLongerThanItsWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := directory.Change{Record: anyOf[directory.Record]().Draw(t, "record")}
		if is := proto.Size(fromReplicate(directory.Replicate{Changes: []directory.Change{c}})); is > c.Weight() {
			t.Fatalf("%d bytes weigh %d: %+v", is, c.Weight(), c)
		}
		h := anyOf[directory.Holding]().Draw(t, "holding")
		if is := proto.Size(fromHoldings(directory.Holdings{Holdings: []directory.Holding{h}})); is > h.Weight() {
			t.Fatalf("%d bytes weigh %d: %+v", is, h.Weight(), h)
		}
		place := anyOf[reduce.Held]().Draw(t, "place")
		if is := proto.Size(&PlacesInspected{Places: []*HeldPlace{fromHeld(&place)}}); is > place.Weight() {
			t.Fatalf("%d bytes weigh %d: %+v", is, place.Weight(), place)
		}
	})
}

func longest(i int) string {
	s := fmt.Sprint(i, "/")
	return s + strings.Repeat("x", phalanx.MaxIDBytes-len(s))
}

// longRecord is as long as a record can be, with so many bytes of its own.
func longRecord(i, payload, evicted int) directory.Record {
	r := directory.Record{Object: phalanx.ObjectID(longest(i)), State: directory.Finished, Gen: phalanx.Generation{Epoch: math.MaxUint64, Seq: math.MaxUint64},
		Meta: phalanx.Meta{Size: math.MaxInt64, DType: phalanx.Uint64}, Digest: phalanx.Digest{1}, Maker: directory.ByReduce,
		Tag: strings.Repeat("t", 32), Note: make([]byte, 1<<10), Origin: phalanx.NodeID(longest(i)), OriginNum: math.MaxUint64, Run: math.MaxUint64,
		Inline: true, Bytes: make([]byte, payload), Copies: math.MaxInt32}
	for range phalanx.MaxDims {
		r.Meta.Shape = append(r.Meta.Shape, math.MaxInt64)
	}
	for k := range evicted {
		r.Evicted = append(r.Evicted, phalanx.NodeID(longest(k)))
	}
	return r
}

// encoded fails the test if v, or v by way of another node, is too long to be sent.
func encoded(t *testing.T, v any) int {
	t.Helper()
	b, err := MarshalDirectory(math.MaxInt32, v)
	if err != nil {
		t.Fatal(err)
	}
	b, err = MarshalDirectory(math.MaxInt32, Relayed{From: phalanx.NodeID(longest(1)), To: phalanx.NodeID(longest(2)), Message: b})
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > limits.MaxMessage {
		t.Errorf("a %T has %d bytes, at most %d can be sent", v, len(b), limits.MaxMessage)
	}
	return len(b)
}

func TestTheLongestMessagesCanBeSent(t *testing.T) {
	record := longRecord(1, directory.MaxPayload-1<<11, 256)
	encoded(t, directory.Replicate{From: phalanx.NodeID(longest(1)), Epoch: math.MaxUint64, Stream: math.MaxUint64, First: math.MaxUint64,
		Changes: []directory.Change{{Record: record}}})
	stat := directory.ObjectStat{Object: record.Object, State: record.State, Gen: record.Gen, Meta: record.Meta, Digest: record.Digest,
		Inline: true, Maker: directory.ByReduce, Origin: record.Origin}
	encoded(t, directory.Reply{To: record.Origin, Num: math.MaxUint64, Result: directory.Result{List: slices.Repeat([]directory.ObjectStat{stat}, directory.MaxList)}})
	for i := range directory.MaxStat {
		n := phalanx.NodeID(longest(i))
		stat.Waiting = append(stat.Waiting, n)
		stat.Holders = append(stat.Holders, directory.HolderStat{Node: n, Complete: true, Pinned: true, Origin: true, Upstream: n})
	}
	encoded(t, directory.Reply{To: record.Origin, Num: math.MaxUint64, Object: record.Object, Result: directory.Result{Gen: record.Gen, Meta: record.Meta, Stat: &stat}})
	ready := directory.Readiness{To: record.Origin, Object: record.Object, Gen: record.Gen, Meta: record.Meta, Bytes: record.Bytes}
	for i := range directory.MaxReady {
		ready.Ready = append(ready.Ready, directory.Location{Node: phalanx.NodeID(longest(i)), Complete: true})
	}
	encoded(t, ready)
	encoded(t, directory.Request{From: record.Origin, Num: math.MaxUint64, Object: record.Object, Epoch: math.MaxUint64, Body: directory.PutInline{
		Meta: record.Meta, Bytes: record.Bytes, Digest: record.Digest, Tag: record.Tag, Note: record.Note}})
}

func TestHoldingsAreCutByTheirWeight(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000, 100_000} {
		h := directory.Holding{Object: phalanx.ObjectID(longest(1)), Gen: phalanx.Generation{Epoch: math.MaxUint64, Seq: math.MaxUint64},
			Meta: longRecord(1, 0, 0).Meta, Digest: phalanx.Digest{1}, Complete: true, Pinned: true, Origin: true, Begun: true,
			Lease: math.MaxUint64, Upstream: phalanx.NodeID(longest(1))}
		all := slices.Repeat([]directory.Holding{h}, n)
		parts, told := 0, 0
		for ; len(all) > 0; parts++ {
			k := directory.FirstPart(all)
			encoded(t, directory.Holdings{From: h.Upstream, Epoch: math.MaxUint64, Round: math.MaxUint64, Part: math.MaxUint64, Holdings: all[:k]})
			all, told = all[k:], told+k
		}
		if told != n || parts > 1+n/500 {
			t.Errorf("%d of %d holdings in %d parts", told, n, parts)
		}
	}
}

// pair is an owner and the replicas that it copies its state to.
type pair struct {
	t        *testing.T
	replicas map[phalanx.NodeID]*directory.Shard
	longest  int
}

func (p *pair) step(at phalanx.NodeID, ev directory.Event) (caughtUp bool) {
	for _, e := range p.replicas[at].Step(0, ev) {
		switch e := e.(type) {
		case directory.SendReplicate:
			p.longest = max(p.longest, encoded(p.t, e))
			if p.replicas[e.To] != nil {
				caughtUp = p.step(e.To, e.Replicate) || caughtUp
			}
		case directory.SendConfirm:
			caughtUp = p.step(e.To, e.Confirm) || caughtUp
		case directory.CaughtUp:
			caughtUp = true
		}
	}
	return caughtUp
}

// A new backup gets every record, however many nodes have evicted their copies.
func TestASnapshotAfterManyEvictionsCanBeSent(t *testing.T) {
	for _, acked := range []bool{false, true} {
		const nodes = 64
		objects := 600
		if testing.Short() {
			objects = 200
		}
		var members []phalanx.NodeID
		for i := range nodes {
			members = append(members, phalanx.NodeID(fmt.Sprintf("worker-%02d#18ea6c3c4dc38cfe", i)))
		}
		a := members[0]
		p := &pair{t: t, replicas: map[phalanx.NodeID]*directory.Shard{}}
		join := func(n phalanx.NodeID) {
			p.replicas[n] = directory.New(directory.Config{Self: n})
			p.step(n, directory.Lease{Until: math.MaxInt64})
		}
		join(a)
		join("b")
		all := append(slices.Clone(members), "b")
		v := directory.Configure{Epoch: 1, Owner: a, Backup: "b", Members: all, Number: 1}
		p.step("b", v)
		p.step(a, v)
		for _, n := range all {
			p.step(a, directory.Holdings{From: n, Epoch: 1, End: true})
		}
		num := uint64(0)
		ask := func(from phalanx.NodeID, id phalanx.ObjectID, body directory.Body) {
			num++
			p.step(a, directory.Request{From: from, Num: num, Object: id, Body: body})
		}
		record := func(i int) directory.Record {
			x, _ := p.replicas[a].Inspect(phalanx.ObjectID(fmt.Sprintf("samples/epoch-3/batch-%06d", i)))
			return x.Record
		}
		meta := phalanx.Meta{Size: 1 << 20}
		for i := range objects {
			id := phalanx.ObjectID(fmt.Sprintf("samples/epoch-3/batch-%06d", i))
			ask(a, id, directory.Begin{Meta: meta})
			g := record(i).Gen
			ask(a, id, directory.Final{Gen: g, Meta: meta, Digest: phalanx.Digest{1}, Held: true})
			for _, n := range members[1:] {
				ask(n, id, directory.Announce{Gen: g, Complete: true})
				ask(n, id, directory.Evict{Gen: g})
				if acked {
					ask(n, id, directory.Drop{Gen: g, Granted: true})
				}
			}
		}
		if n := len(record(1).Evicted); acked && n != 1 || n > nodes {
			t.Errorf("acknowledged %v: one record lists %d grants", acked, n)
		}
		p.longest = 0
		join("c")
		w := directory.Configure{Epoch: 2, Owner: a, Backup: "b", Next: "c", Members: append(slices.Clone(all), "c"), Number: 2}
		p.step("c", w)
		p.step("b", w)
		if !p.step(a, w) {
			t.Errorf("acknowledged %v: the next backup was not copied to; the longest message has %d bytes", acked, p.longest)
		}
		// A grant says nothing once its node has left.
		few := directory.Configure{Epoch: 3, Owner: a, Backup: "c", Members: []phalanx.NodeID{a, "c"}, Number: 3}
		p.step("c", few)
		p.step(a, few)
		ask("c", "samples/epoch-3/batch-000001", directory.Announce{Gen: record(1).Gen, Complete: true})
		ask("c", "samples/epoch-3/batch-000001", directory.Evict{Gen: record(1).Gen})
		if e := record(1).Evicted; len(e) != 1 || e[0] != "c" {
			t.Errorf("acknowledged %v: the record lists the grants of %v", acked, e)
		}
	}
}

// Messages between actors are shorter than remoting takes, too.
func TestTheLongestLetters(t *testing.T) {
	short := func(m proto.Message) {
		t.Helper()
		if n := proto.Size(m); n > limits.MaxControl {
			t.Errorf("a %T has %d bytes, at most %d can be sent", m, n, limits.MaxControl)
		}
	}
	gen := reduce.PlaceGen{Attempt: math.MaxUint64, Seq: math.MaxUint64}
	look := Look{Held: math.MaxInt64, Degree: math.MaxInt32, Size: math.MaxInt64}
	for i := range 100_000 {
		look.Outputs = append(look.Outputs, LookOutput{Place: i, Gen: gen, Made: math.MaxInt64})
		look.Places = append(look.Places, LookPlace{Place: i, Parent: i, Node: phalanx.NodeID(longest(i)), Source: phalanx.ObjectID(longest(i)), Gen: gen, Empty: true})
	}
	reply := LookReplyToProto(look)
	short(reply)
	if got, err := LookReplyFromProto(reply); err != nil || len(got.Places) != MaxLook || got.Hidden != len(look.Places)-MaxLook {
		t.Errorf("%d places, %d hidden: %v", len(got.Places), got.Hidden, err)
	}
	g := phalanx.Generation{Epoch: math.MaxUint64, Seq: math.MaxUint64}
	command := reduce.Command{Node: phalanx.NodeID(longest(1)), State: reduce.State{Target: phalanx.ObjectID(longest(1)), Reduce: g, TargetGen: g, Gen: gen,
		Source: phalanx.ObjectID(longest(1)), SourceGen: g, Meta: longRecord(1, 0, 0).Meta}}
	for i := range reduce.MaxDegree {
		command.State.Children = append(command.State.Children, reduce.Child{Order: i, Place: i, Node: phalanx.NodeID(longest(i)), Gen: gen,
			Source: phalanx.ObjectID(longest(i)), SourceGen: g})
	}
	_, order := OrderToProto(phalanx.NodeID(longest(1)), command)
	short(order)

	// A node tells what it runs in parts, however many places that are.
	places := []reduce.Held{{State: command.State}}
	for i := range 20_000 {
		small := command.State
		small.Place, small.Children = 20_000-i, small.Children[:2]
		places = append(places, reduce.Held{State: small})
	}
	told, from := 0, 0
	for parts := 1; ; parts++ {
		in := reduce.Inspected{Node: "a#1", Attempt: 1, From: from}
		for _, h := range places {
			if h.State.Place >= from {
				in.Places = append(in.Places, h)
			}
		}
		in.Cut()
		short(ReportToProto(Report{Target: command.State.Target, Reduce: g, Node: "a#1", Event: in}))
		told += len(in.Places)
		if from = in.Next; from == 0 || parts > 100 {
			break
		}
	}
	if told != len(places) {
		t.Errorf("%d of %d places are told", told, len(places))
	}
	short(ErrorToProto(errors.New(strings.Repeat("x", 2*limits.MaxControl))))
}
