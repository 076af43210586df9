package owner

import (
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestReplicas(t *testing.T) {
	s := view.Shard{Owner: "a", Backup: "b", Next: "c", Epoch: 4, LostAt: 3}
	for id, want := range map[phalanx.NodeID]bool{"a": true, "b": true, "c": true, "d": false} {
		if Replicates(id, s) != want {
			t.Errorf("%s has a replica: %v", id, !want)
		}
	}
	v := view.View{Number: 9, Members: []view.Member{{ID: "a"}, {ID: "b", Leaving: true}}, Shards: []view.Shard{{}, s}}
	want := directory.Configure{Epoch: 4, Owner: "a", Backup: "b", Next: "c", Members: []phalanx.NodeID{"a", "b"}, Leaving: []phalanx.NodeID{"b"}, Number: 9, LostAt: 3}
	if got := Configure(v, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The sender of a request hears that it has asked the wrong node. Nothing else is answered.
func TestNotHere(t *testing.T) {
	got, ok := NotHere("a", 2, directory.Request{From: "b", Num: 7, Object: "x"})
	if !ok || got.To != "b" || got.Num != 7 || got.Object != "x" || !got.Result.NotOwner || got.Result.Kind != phalanx.ErrUnavailable {
		t.Errorf("%v: %+v", ok, got)
	}
	if _, ok := NotHere("a", 2, directory.Tick{}); ok {
		t.Error("a tick is answered")
	}
}
