package owner

import (
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

func TestARequestWaitsForRoomAndIsTurnedAway(t *testing.T) {
	var r Room
	full := errors.New("0 of 9 bytes are free")
	q := directory.Request{From: "b#1", Num: 7, Object: "x"}
	for now := RoomPatience / 4; now < RoomPatience*5/4; now += RoomPatience / 4 {
		if got, ok := r.Short("a#1", now, q, full); ok {
			t.Fatalf("at %v: %+v", now, got)
		}
	}
	got, ok := r.Short("a#1", RoomPatience*5/4, q, full)
	if !ok || got.To != "b#1" || got.Num != 7 || got.Object != "x" || got.Result.Kind != phalanx.ErrNoSpace ||
		!strings.Contains(got.Result.Text, "a#1 has no memory") || !strings.Contains(got.Result.Text, full.Error()) {
		t.Fatalf("%v %+v", ok, got)
	}
	if r.Waiting() != 0 {
		t.Errorf("%d requests wait", r.Waiting())
	}
}

func TestWhatWaitsForRoomIsForgotten(t *testing.T) {
	var r Room
	q := func(num uint64) directory.Request { return directory.Request{From: "b#1", Num: num, Object: "x"} }
	for num := range uint64(3) {
		r.Short("a#1", 0, q(num), errors.New("full"))
	}
	if r.Fits(q(0)); r.Waiting() != 2 {
		t.Fatalf("%d requests wait after one of three had room", r.Waiting())
	}
	// A request that had room, and lacks it when it is repeated, waits anew.
	if _, ok := r.Short("a#1", RoomPatience+1, q(0), errors.New("full")); ok {
		t.Error("it was turned away at once")
	}
	// The other two requests are not repeated any more.
	if r.Short("a#1", 2*RoomPatience+1, q(9), errors.New("full")); r.Waiting() != 2 {
		t.Errorf("%d requests wait, want that of the one who waits anew and a new one", r.Waiting())
	}
}
