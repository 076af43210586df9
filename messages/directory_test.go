package messages

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// crosses draws values of T and checks that they come out as they went in.
func crosses[T any](t *testing.T) {
	t.Run(reflect.TypeFor[T]().Name(), rapid.MakeCheck(func(t *rapid.T) {
		in := anyOf[T]().Draw(t, "in")
		wantShard := rapid.IntRange(0, math.MaxInt32).Draw(t, "shard")
		b, err := MarshalDirectory(wantShard, in)
		if err != nil {
			t.Fatal(err)
		}
		shard, out, err := UnmarshalDirectory(b)
		if err != nil {
			t.Fatal(err)
		}
		clear(b) // whatever out holds must be its own
		if shard != wantShard || !reflect.DeepEqual(out, any(in)) {
			t.Fatalf("shard %d of %d\n in %+v\nout %+v", shard, wantShard, in, out)
		}
	}))
}

func TestDirectoryCrosses(t *testing.T) {
	crosses[directory.Request](t)
	crosses[directory.Reply](t)
	crosses[directory.Push](t)
	crosses[directory.PushAcked](t)
	crosses[directory.Readiness](t)
	crosses[directory.WatchAcked](t)
	crosses[directory.AskLease](t)
	crosses[directory.LeaseKnown](t)
	crosses[directory.Replicate](t)
	crosses[directory.Confirm](t)
	crosses[directory.Holdings](t)
	crosses[directory.AckHoldings](t)
	crosses[Relayed](t)
}

func TestEveryRequestCrosses(t *testing.T) {
	for _, draw := range bodies() {
		body := draw
		rapid.Check(t, func(t *rapid.T) {
			in := directory.Request{From: "a#1", Num: 7, Object: "o", Epoch: 3, Body: body(t)}
			b, err := MarshalDirectory(0, in)
			if err != nil {
				t.Fatal(err)
			}
			if _, out, err := UnmarshalDirectory(b); err != nil || !reflect.DeepEqual(out, any(in)) {
				t.Fatalf("%v\n in %+v\nout %+v", err, in, out)
			}
		})
	}
}

func TestEffectsSendWhatTheyCarry(t *testing.T) {
	replicate := directory.Replicate{From: "a#1", Epoch: 1, Changes: []directory.Change{{End: true}}}
	confirm := directory.Confirm{From: "a#1", Epoch: 2, Stream: 1, Seq: 9}
	for _, c := range []struct{ in, want any }{
		{directory.SendReplicate{To: "b#1", Replicate: replicate}, replicate},
		{directory.SendConfirm{To: "b#1", Confirm: confirm}, confirm},
	} {
		b, err := MarshalDirectory(3, c.in)
		if err != nil {
			t.Fatal(err)
		}
		if _, out, err := UnmarshalDirectory(b); err != nil || !reflect.DeepEqual(out, c.want) {
			t.Errorf("%T became %+v, %v", c.in, out, err)
		}
	}
}

func TestAppendDirectoryKeepsWhatIsThere(t *testing.T) {
	ok := directory.Request{From: "a#1", Object: "o", Body: directory.Locate{}}
	alone, err := MarshalDirectory(1, ok)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := AppendDirectory([]byte("head"), 1, ok); err != nil || string(b) != "head"+string(alone) {
		t.Errorf("appended to head: %q, %v", b, err)
	}
	if b, err := AppendDirectory([]byte("head"), 1, "nonsense"); !errors.Is(err, phalanx.ErrInternal) || string(b) != "head" {
		t.Errorf("failed: %q, %v", b, err)
	}
}

func TestDirectoryRefusesToSend(t *testing.T) {
	ok := directory.Request{From: "a#1", Object: "o", Body: directory.Locate{}}
	for _, c := range []struct {
		shard int
		v     any
	}{
		{-1, ok},
		{math.MaxInt32 + 1, ok},
		{0, nil},
		{0, &ok},
		{0, directory.Tick{}},
		{0, directory.Request{From: "a#1", Object: "o"}},
		{0, directory.Request{From: "a#1", Object: "\xff", Body: directory.Locate{}}},
	} {
		if b, err := MarshalDirectory(c.shard, c.v); !errors.Is(err, phalanx.ErrInternal) || b != nil {
			t.Errorf("shard %d, %+v: %q, %v", c.shard, c.v, b, err)
		}
	}
}

// An error that quotes nonsense has to reach whoever sent the nonsense.
func TestTextIsMadeSendable(t *testing.T) {
	b, err := MarshalDirectory(0, directory.Reply{To: "a#1", Result: directory.Result{Text: "no \xff here"}})
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := UnmarshalDirectory(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.(directory.Reply).Result.Text; got != "no \uFFFD here" {
		t.Errorf("the text is %q", got)
	}
}

func TestDirectoryRefusesWhatItGets(t *testing.T) {
	long := strings.Repeat("x", phalanx.MaxIDBytes+1)
	dims := make([]int64, phalanx.MaxDims+1)
	full := func(body isDirectory_Body) *Directory { return &Directory{Node: "a#1", Object: "o", Body: body} }
	for _, c := range []struct {
		field string
		m     *Directory
	}{
		{"body", full(nil)},
		{"node", &Directory{Object: "o", Body: &Directory_Locate{}}},
		{"node", &Directory{Node: long, Object: "o", Body: &Directory_Locate{&Locate{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_Locate{&Locate{}}}},
		{"object", &Directory{Node: "a#1", Object: long, Body: &Directory_Locate{&Locate{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_Push{&Push{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_Readiness{&Readiness{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_PushAcked{&PushAcked{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_WatchAcked{&WatchAcked{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_AskLease{&AskLease{}}}},
		{"object", &Directory{Node: "a#1", Body: &Directory_LeaseKnown{&LeaseKnown{}}}},
		{"object", &Directory{Node: "a#1", Object: long, Body: &Directory_Reply{&Reply{}}}},
		{"shard", &Directory{Shard: math.MaxUint32, Node: "a#1", Object: "o", Body: &Directory_Locate{&Locate{}}}},
		{"locate.room", full(&Directory_Locate{&Locate{Room: -1}})},
		{"begin.meta", full(&Directory_Begin{&Begin{Meta: &Meta{Size: -2}}})},
		{"begin.meta", full(&Directory_Begin{&Begin{Meta: &Meta{Dtype: 13}}})},
		{"begin.meta", full(&Directory_Begin{&Begin{Meta: &Meta{Shape: dims}}})},
		{"begin.meta", full(&Directory_Begin{&Begin{Meta: &Meta{Shape: []int64{-1}}}})},
		{"begin.meta", full(&Directory_Begin{&Begin{Meta: &Meta{Scalar: true, Shape: []int64{1}}}})},
		{"begin.maker", full(&Directory_Begin{&Begin{Maker: 2}})},
		{"begin.copies", full(&Directory_Begin{&Begin{Copies: -1}})},
		{"put_inline.meta", full(&Directory_PutInline{&PutInline{Meta: &Meta{Size: -2}}})},
		{"put_inline.digest", full(&Directory_PutInline{&PutInline{Digest: make([]byte, 15)}})},
		{"put_inline.copies", full(&Directory_PutInline{&PutInline{Copies: -1}})},
		{"final.meta", full(&Directory_Final{&Final{Meta: &Meta{Dtype: -1}}})},
		{"final.digest", full(&Directory_Final{&Final{Digest: make([]byte, 17)}})},
		{"list.after", full(&Directory_List{&List{After: long}})},
		{"list.limit", full(&Directory_List{&List{Limit: -1}})},
		{"reply.kind", full(&Directory_Reply{&Reply{Kind: Kind(phalanx.ErrUnknown) + 1}})},
		{"reply.state", full(&Directory_Reply{&Reply{State: 5}})},
		{"reply.meta", full(&Directory_Reply{&Reply{Meta: &Meta{Dtype: 13}}})},
		{"reply.digest", full(&Directory_Reply{&Reply{Digest: []byte{1}}})},
		{"reply.attached", full(&Directory_Reply{&Reply{Attached: long}})},
		{"reply.origin", full(&Directory_Reply{&Reply{Origin: long}})},
		{"corrupt.digest", full(&Directory_Corrupt{&Corrupt{Digest: []byte{1}}})},
		{"reply.sender", full(&Directory_Reply{&Reply{Sender: long}})},
		{"stat.object", full(&Directory_Reply{&Reply{Stat: &ObjectStat{}}})},
		{"stat.object", full(&Directory_Reply{&Reply{List: []*ObjectStat{{}}}})},
		{"stat.state", full(&Directory_Reply{&Reply{Stat: &ObjectStat{Object: "o", State: -1}}})},
		{"stat.maker", full(&Directory_Reply{&Reply{Stat: &ObjectStat{Object: "o", Maker: 2}}})},
		{"stat.origin", full(&Directory_Reply{&Reply{Stat: &ObjectStat{Object: "o", Origin: long}}})},
		{"stat.waiting", full(&Directory_Reply{&Reply{Stat: &ObjectStat{Object: "o", Waiting: []string{""}}}})},
		{"holder.node", full(&Directory_Reply{&Reply{Stat: &ObjectStat{Object: "o", Holders: []*HolderStat{{}}}}})},
		{"push.order", full(&Directory_Push{&Push{Order: 7}})},
		{"push.meta", full(&Directory_Push{&Push{Meta: &Meta{Size: -2}}})},
		{"push.digest", full(&Directory_Push{&Push{Digest: []byte{1}}})},
		{"readiness.state", full(&Directory_Readiness{&Readiness{State: 5}})},
		{"location.node", full(&Directory_Readiness{&Readiness{Ready: []*Location{{}}}})},
		{"record.object", full(&Directory_Replicate{&Replicate{Changes: []*Change{{}}}})},
		{"record.state", full(&Directory_Replicate{&Replicate{Changes: []*Change{{Record: &Record{Object: "o", State: 9}}}}})},
		{"record.evicted", full(&Directory_Replicate{&Replicate{Changes: []*Change{{Record: &Record{Object: "o", Evicted: []string{long}}}}}})},
		{"holding.object", full(&Directory_Holdings{&Holdings{Holdings: []*Holding{{}}}})},
		{"holding.upstream", full(&Directory_Holdings{&Holdings{Holdings: []*Holding{{Object: "o", Upstream: long}}}})},
	} {
		b, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := UnmarshalDirectory(b)
		if !errors.Is(err, phalanx.ErrInternal) || v != nil || !strings.Contains(err.Error(), " "+c.field+":") {
			t.Errorf("%s: %v is %+v, %v", c.field, c.m, v, err)
		}
	}
}

// FuzzDirectory checks that no bytes make UnmarshalDirectory panic, and that
// whatever it accepts can be sent on.
func FuzzDirectory(f *testing.F) {
	for _, v := range []any{
		directory.Request{From: "a#1", Num: 7, Object: "weights/7", Body: directory.Locate{Room: 1 << 20, Wait: true, Down: 40 << 20}},
		directory.Request{From: "a#1", Body: directory.List{Prefix: "weights/", After: "weights/3", Limit: 10}},
		directory.Request{From: "a#1", Object: "o", Body: directory.PutInline{Meta: phalanx.Meta{Size: 4, DType: phalanx.Float32,
			Shape: []int64{1}}, Digest: phalanx.Digest{1}, Bytes: []byte("abcd"), Tag: "t", Note: []byte("n"), Copies: 2}},
		locateReply(),
		directory.Reply{To: "a#1", Result: directory.Result{List: []directory.ObjectStat{{Object: "o", Waiting: []phalanx.NodeID{"b#1"}}}}},
		directory.Push{To: "a#1", Object: "o", Order: directory.PushReset},
		directory.Readiness{To: "a#1", Object: "o", Ready: []directory.Location{{Node: "b#1", Complete: true}}},
		directory.Replicate{From: "a#1", Changes: []directory.Change{{Record: directory.Record{Object: "o", Bytes: []byte("x")}}, {End: true}}},
		directory.Holdings{From: "a#1", Holdings: []directory.Holding{{Object: "o", Lease: 3}}, End: true, Before: 9},
	} {
		b, err := MarshalDirectory(5, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		shard, v, err := UnmarshalDirectory(b)
		if err != nil {
			if !errors.Is(err, phalanx.ErrInternal) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := MarshalDirectory(shard, v)
		if err != nil {
			t.Fatalf("%+v was taken but cannot be sent: %v", v, err)
		}
		if s, w, err := UnmarshalDirectory(again); err != nil || s != shard || !reflect.DeepEqual(
			normal(reflect.ValueOf(w)).Interface(), normal(reflect.ValueOf(v)).Interface()) {
			t.Fatalf("%+v became %+v, %v", v, w, err)
		}
	})
}

func TestGarbageDoesNotPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if _, v, err := UnmarshalDirectory(b); (v == nil) == (err == nil) {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

func locateReply() directory.Reply {
	return directory.Reply{To: "node-12#18f3a2c1", Num: 4711, Object: "weights/epoch-7/layer-3", Result: directory.Result{
		State: directory.Finished, Gen: phalanx.Generation{Epoch: 3, Seq: 17},
		Meta:   phalanx.Meta{Size: 64 << 20, DType: phalanx.Float32, Shape: []int64{4096, 4096}},
		Digest: phalanx.Digest{1, 2, 3}, Lease: 99, Sender: "node-3#18f3a2c0"}}
}

func BenchmarkLocate(b *testing.B) {
	request := directory.Request{From: "node-12#18f3a2c1", Num: 4711, Object: "weights/epoch-7/layer-3",
		Body: directory.Locate{Room: 64 << 20, Wait: true}}
	for _, c := range []struct {
		name string
		v    any
	}{{"Request", request}, {"Reply", locateReply()}} {
		b.Run(c.name, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = AppendDirectory(buf[:0], 7, c.v); err != nil {
					b.Fatal(err)
				}
				if _, _, err = UnmarshalDirectory(buf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(buf)), "B/message")
		})
	}
}
