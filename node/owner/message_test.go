package owner

import (
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

var (
	gen    = phalanx.Generation{Epoch: 2, Seq: 3}
	older  = phalanx.Generation{Epoch: 1, Seq: 9}
	meta   = phalanx.Meta{Size: 5}
	digest = phalanx.Digest{7}
)

func TestWhatAFetchHasForTheOwner(t *testing.T) {
	for _, c := range []struct {
		e    transfer.Effect
		want Message
	}{
		{transfer.Locate{Num: 4, Room: 9, Wait: true, Failed: 6}, Message{How: Await, Num: 4, Body: directory.Locate{Room: 9, Wait: true, Failed: 6}}},
		{transfer.Cancel{Num: 4}, Message{How: Withdraw, Num: 4, Body: directory.Cancel{Num: 4}}},
		{transfer.ReportDone{Lease: 1, Gen: gen, Rate: 8}, Message{How: List, Gen: gen, Body: directory.Done{Lease: 1, Gen: gen, Rate: 8}}},
		{transfer.ReportDone{Lease: 1, Gen: gen, Complete: true}, Message{How: Tell, Gen: gen, Body: directory.Done{Lease: 1, Gen: gen, Complete: true}}},
		{transfer.ReportFailed{Num: 5, Lease: 1, Reason: "broken"}, Message{How: Tell, Body: directory.Failed{Lease: 1, Reason: "broken"}}},
		{transfer.ReportCorrupt{Gen: gen, Digest: digest}, Message{How: Tell, Body: directory.Corrupt{Gen: gen, Digest: digest}}},
		{transfer.ReportDrop{Gen: gen}, Message{How: Unkeep, Gen: gen, Body: directory.Drop{Gen: gen}}},
		{transfer.Announce{Gen: gen, Begun: true}, Message{How: List, Gen: gen, Body: directory.Announce{Gen: gen, Begun: true}}},
		{transfer.Announce{Gen: gen, Complete: true, Pinned: true, Origin: true, Retiring: true},
			Message{How: Tell, Gen: gen, Body: directory.Announce{Gen: gen, Complete: true, Pinned: true, Origin: true, Retiring: true}}},
	} {
		if got, ok := OfFetch(c.e); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T: %+v, %v, want %+v", c.e, got, ok, c.want)
		}
	}
	if m, ok := OfFetch(transfer.Supply{}); ok {
		t.Errorf("the owner hears %+v", m)
	}
}

func TestWhatAPutHasForTheOwner(t *testing.T) {
	bytes := func() []byte { return []byte("bytes") }
	for _, c := range []struct {
		e    transfer.CreatorEffect
		want Message
	}{
		{transfer.Bind{Num: 4, Meta: meta, Copies: 2, Replace: gen, After: older},
			Message{How: Await, Num: 4, Body: directory.Begin{Meta: meta, Maker: directory.ByPut, Copies: 2, Replace: gen, After: older}}},
		{transfer.BindInline{Num: 4, Gen: gen, After: older, Meta: meta, Digest: digest, Copies: 2},
			Message{How: Await, Num: 4, Body: directory.PutInline{Meta: meta, Digest: digest, Bytes: bytes(), Gen: gen, After: older, Held: true, Copies: 2}}},
		{transfer.Finish{Num: 4, Gen: gen, Meta: meta, Digest: digest}, Message{How: Await, Num: 4, Body: directory.Final{Gen: gen, Meta: meta, Digest: digest, Held: true}}},
		{transfer.AwaitCopies{Num: 4, Gen: gen, Copies: 2}, Message{How: Await, Num: 4, Body: directory.AwaitCopies{Gen: gen, Copies: 2}}},
		{transfer.Withdraw{Num: 4, Gen: gen}, Message{How: Tell, Body: directory.Abort{Gen: gen}}},
		{transfer.Cancel{Num: 4}, Message{How: Withdraw, Num: 4, Body: directory.Cancel{Num: 4}}},
		{transfer.Announce{Gen: gen, Origin: true}, Message{How: Tell, Gen: gen, Body: directory.Announce{Gen: gen, Origin: true}}},
		{transfer.Announce{Gen: gen, Complete: true}, Message{How: Tell, Gen: gen, Body: directory.Announce{Gen: gen, Complete: true}}},
	} {
		got, ok := OfPut(c.e, bytes)
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T: %+v, %v, want %+v", c.e, got, ok, c.want)
		}
	}
	if m, ok := OfPut(transfer.Fill{}, bytes); ok {
		t.Errorf("the owner hears %+v", m)
	}
}

// The bytes of an object count as here if they came, or if it has none.
func TestAnswered(t *testing.T) {
	for _, c := range []struct {
		r      directory.Result
		inline bool
	}{
		{directory.Result{Inline: []byte("bytes"), IsInline: true, Meta: meta}, true},
		{directory.Result{IsInline: true}, true},
		{directory.Result{IsInline: true, Meta: meta}, false}, // the owner left them out
		{directory.Result{Meta: meta}, false},
		{directory.Result{}, false},
	} {
		if got := Answered(1, "a", c.r); got.Inline != c.inline {
			t.Errorf("%+v: %+v", c.r, got)
		}
	}
	r := directory.Result{Kind: phalanx.ErrLost, Text: "text", Waiting: true, State: directory.Lost, Gen: gen, Meta: meta, Digest: digest, Origin: "o", Lease: 8, Sender: "s", Beside: true}
	want := transfer.Answered{Num: 1, Node: "a", Kind: phalanx.ErrLost, Text: "text", Waiting: true, State: transfer.Lost, Gen: gen, Meta: meta, Digest: digest, Origin: "o", Lease: 8, Sender: "s", Beside: true}
	if got := Answered(1, "a", r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOrder(t *testing.T) {
	for order, want := range map[directory.Order]transfer.Order{directory.PushFinal: transfer.OrderFinal, directory.PushReset: transfer.OrderReset,
		directory.PushAbort: transfer.OrderAbort, directory.PushDrop: transfer.OrderDrop} {
		got, ok := Order(directory.Push{Order: order, Gen: gen, Meta: meta, Digest: digest})
		if !ok || !reflect.DeepEqual(got, transfer.Pushed{Order: want, Gen: gen, Meta: meta, Digest: digest}) {
			t.Errorf("%v: %+v, %v", order, got, ok)
		}
	}
	for _, order := range []directory.Order{directory.PushCopy, directory.PushSpare, directory.PushCheck} {
		if got, ok := Order(directory.Push{Order: order}); ok {
			t.Errorf("%v is %+v", order, got)
		}
	}
}

func TestUnlisted(t *testing.T) {
	if !Unlisted(0, 0) || !Unlisted(0, 3) || !Unlisted(2, 3) || Unlisted(3, 3) {
		t.Error("an unlisted copy counts as listed, or the other way around")
	}
}

// The owner hears that a fetch which its actor has ended goes on no more, and what it had.
func TestAbandoned(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	withdraw, unkeep := cancel(7), Message{How: Unkeep, Gen: gen, Body: directory.Drop{Gen: gen}}
	for _, c := range []struct {
		name         string
		over, inline bool
		gen          phalanx.Generation
		want         []Message
	}{
		{"over", true, false, gen, nil},
		{"on the way", false, false, gen, []Message{withdraw, unkeep}},
		{"nothing here yet", false, false, phalanx.Generation{}, []Message{withdraw}},
		{"inline bytes wait for room", true, true, gen, []Message{unkeep}},
	} {
		if got := Abandoned(c.over, c.inline, 7, c.gen); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
