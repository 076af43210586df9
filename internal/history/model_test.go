package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	. "github.com/phalanx-go/phalanx/internal/history"
)

// op is a call on "x" between two times.
func op(begin, end time.Duration, c Call, change ...func(*Op)) Op {
	o := Op{Call: c, Object: "x", Node: "n1", Begin: begin, End: end, Size: 10}
	for _, f := range change {
		f(&o)
	}
	return o
}

func bytes(v string) func(*Op)            { return func(o *Op) { o.Version = v } }
func size(n int64) func(*Op)              { return func(o *Op) { o.Size = n } }
func ended(k phalanx.Kind) func(*Op)      { return func(o *Op) { o.Outcome = k } }
func told(state string) func(*Op)         { return func(o *Op) { o.State = state } }
func stale(o *Op)                         { o.Stale = true }
func put(b, e time.Duration, v string) Op { return op(b, e, Put, bytes(v)) }
func got(b, e time.Duration, v string) Op { return op(b, e, Get, bytes(v)) }
func gone(b, e time.Duration) Op          { return op(b, e, Get, ended(phalanx.ErrDeleted)) }
func nobody(b, e time.Duration) Op        { return op(b, e, Get, ended(phalanx.ErrNotFound)) }
func del(b, e time.Duration) Op           { return op(b, e, Delete) }
func loss(at time.Duration) Op            { return op(at, at, Loss) }
func exists(b, e time.Duration, v string) Op {
	return op(b, e, Put, bytes(v), ended(phalanx.ErrExists))
}
func unknown(b, e time.Duration, v string) Op {
	return op(b, e, Put, bytes(v), ended(phalanx.ErrUnavailable))
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		ops   []Op
		right bool
	}{
		{"put, get, delete", []Op{nobody(0, 1), put(2, 3, "a"), got(4, 5, "a"), del(6, 7), gone(8, 9)}, true},
		{"other bytes", []Op{put(2, 3, "a"), got(4, 5, "b")}, false},
		{"bytes that nobody put yet", []Op{got(0, 1, "a"), put(2, 3, "a")}, false},
		{"bytes while they are put", []Op{put(0, 9, "a"), got(2, 3, "a"), nobody(1, 2)}, true},
		{"first there, then not", []Op{put(0, 9, "a"), got(1, 2, "a"), nobody(3, 4)}, false},
		{"an acknowledged put is forgotten", []Op{put(0, 1, "a"), nobody(2, 3)}, false},
		{"and another is taken", []Op{put(0, 1, "a"), put(2, 3, "b")}, false},
		{"two puts, both succeed", []Op{put(0, 5, "a"), put(0, 5, "b")}, false},
		{"two puts, one succeeds", []Op{put(0, 5, "a"), exists(0, 5, "b"), got(6, 7, "a")}, true},
		{"two puts, the other's bytes", []Op{put(0, 5, "a"), exists(0, 5, "b"), got(6, 7, "b")}, false},
		{"the same bytes twice", []Op{put(0, 1, "a"), put(2, 3, "a"), got(4, 5, "a")}, true},
		{"exists, but nobody put anything", []Op{exists(0, 5, "b")}, false},
		{"exists, but the same bytes", []Op{put(0, 1, "a"), exists(2, 3, "a")}, false},
		{"exists, as another size is put", []Op{exists(0, 5, "b"), op(1, 9, Put, bytes("a"), size(7), ended(phalanx.ErrAborted)), nobody(10, 11)}, true},
		{"put again after the delete", []Op{put(0, 1, "a"), del(2, 3), put(4, 5, "b"), got(6, 7, "b")}, true},
		{"put again, and the old bytes", []Op{put(0, 1, "a"), del(2, 3), put(4, 5, "b"), got(6, 7, "a")}, false},
		{"put again, and the old bytes where the node does not know", []Op{put(0, 1, "a"), del(2, 3), put(4, 5, "b"), op(6, 7, Get, bytes("a"), stale)}, true},
		{"put again, and gone", []Op{put(0, 1, "a"), del(2, 3), put(4, 5, "b"), gone(6, 7)}, false},
		{"nothing was deleted, and put", []Op{del(0, 1), put(2, 3, "a"), got(4, 5, "a")}, true},
		{"nothing was deleted", []Op{del(0, 1), nobody(2, 3)}, true},
		{"refused after the delete", []Op{put(0, 1, "b"), del(2, 3), op(4, 5, Put, bytes("a"), ended(phalanx.ErrDeleted)), gone(6, 7)}, false},
		{"refused before the delete", []Op{put(0, 1, "a"), op(2, 3, Put, bytes("a"), ended(phalanx.ErrDeleted)), del(4, 5)}, false},
		{"deleted while it was put, after others saw it", []Op{op(0, 9, Put, bytes("a"), ended(phalanx.ErrDeleted)), got(1, 2, "a"), exists(3, 4, "b"), del(5, 6), gone(7, 8)}, true},
		{"refused, and seen after that", []Op{op(0, 9, Put, bytes("a"), ended(phalanx.ErrDeleted)), del(5, 6), got(10, 11, "a")}, false},
		{"refused without a delete", []Op{op(0, 9, Put, bytes("a"), ended(phalanx.ErrDeleted)), got(1, 2, "a")}, false},
		{"bytes after the delete", []Op{put(0, 1, "a"), del(2, 3), got(4, 5, "a")}, false},
		{"bytes after the delete, where the node does not know", []Op{put(0, 1, "a"), del(2, 3), op(4, 5, Get, bytes("a"), stale)}, true},
		{"wrong bytes after the delete", []Op{put(0, 1, "a"), del(2, 3), op(4, 5, Get, bytes("b"), stale)}, false},
		{"not found after the delete", []Op{put(0, 1, "a"), del(2, 3), nobody(4, 5)}, false},
		{"not found after the delete, and a put that failed", []Op{put(0, 1, "a"), del(2, 3), unknown(4, 5, "b"), nobody(6, 7)}, true},
		{"not found before a put failed", []Op{put(0, 1, "a"), del(2, 3), nobody(4, 5), unknown(6, 7, "b")}, false},
		{"deleted by nobody", []Op{put(0, 1, "a"), gone(2, 3)}, false},
		{"deleted and back", []Op{put(0, 1, "a"), op(2, 3, Delete, ended(phalanx.ErrDeadline)), gone(4, 5), got(6, 7, "a")}, false},
		{"a delete of unknown outcome, later", []Op{put(0, 1, "a"), op(2, 3, Delete, ended(phalanx.ErrDeadline)), got(4, 5, "a"), gone(6, 7)}, true},
		{"a put of unknown outcome, later", []Op{unknown(0, 1, "a"), nobody(2, 3), got(4, 5, "a")}, true},
		{"a put of unknown outcome, never", []Op{unknown(0, 1, "a"), nobody(2, 3), put(4, 5, "b"), got(6, 7, "b")}, true},
		{"a put of unknown outcome, there and not", []Op{unknown(0, 1, "a"), got(2, 3, "a"), nobody(4, 5)}, false},
		{"a put of unknown outcome, before it began", []Op{got(0, 1, "a"), unknown(2, 3, "a")}, false},
		{"a put without an answer", []Op{put(0, Never, "a"), nobody(1, 2), got(3, 4, "a")}, true},
		{"lost, and put again", []Op{put(0, 1, "a"), loss(2), put(3, 4, "b"), got(5, 6, "b")}, true},
		{"lost, found, replaced, and the old bytes", []Op{put(0, 1, "a"), loss(2), got(3, 4, "a"), put(5, 6, "b"), got(7, 8, "a")}, false},
		{"lost, replaced, and the old bytes where the node does not know", []Op{put(0, 1, "a"), loss(2), put(5, 6, "b"), op(7, 8, Get, bytes("a"), stale)}, true},
		{"lost, replaced, and bytes of nobody", []Op{put(0, 1, "a"), loss(2), put(5, 6, "b"), op(7, 8, Get, bytes("c"), stale)}, false},
		{"lost is not forgotten", []Op{put(0, 1, "a"), loss(2), nobody(3, 4)}, false},
		{"replaced before it was lost", []Op{put(0, 1, "a"), put(2, 3, "b"), loss(4)}, false},
		{"stats", []Op{op(0, 1, Stat, ended(phalanx.ErrNotFound)), put(2, 7, "a"), op(3, 4, Stat, told("begun")), op(5, 6, Stat, told("final")), loss(8), op(9, 10, Stat, told("lost")), del(11, 12), op(13, 14, Stat, ended(phalanx.ErrDeleted))}, true},
		{"a stat that says lost", []Op{put(0, 1, "a"), op(2, 3, Stat, told("lost"))}, false},
		{"a stat that says begun", []Op{put(0, 1, "a"), op(2, 3, Stat, told("begun"))}, false},
		{"a stat that says final", []Op{op(2, 3, Stat, told("final"))}, false},
		{"a stat that says deleted", []Op{put(0, 1, "a"), op(2, 3, Stat, ended(phalanx.ErrDeleted))}, false},
		{"late gets prove nothing", []Op{put(0, 1, "a"), op(2, 3, Get, ended(phalanx.ErrDeadline)), op(2, Never, Get), op(2, 3, Stat, ended(phalanx.ErrFenced))}, true},
	} {
		v := Check(c.ops, time.Minute)
		if right := len(v.Wrong) == 0; right != c.right || len(v.Undecided) > 0 {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

func TestObjectsAreJudgedApart(t *testing.T) {
	var ops []Op
	for i := range 3 {
		for _, o := range []Op{put(0, 1, "a"), got(2, 3, "a")} {
			o.Object = phalanx.ObjectID(fmt.Sprint("x", i))
			if i == 1 && o.Call == Get {
				o.Version = "b"
			}
			ops = append(ops, o)
		}
	}
	v := Check(ops, time.Minute)
	if v.Objects != 3 || v.Ops != 6 || len(v.Wrong) != 1 || v.Wrong[0].Object != "x1" {
		t.Fatalf("%+v", v)
	}
	text := v.Wrong[0].String()
	for _, want := range []string{"x1", "0.000000–0.000000 n1 put a: ok", "get b: ok"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestMarkStale(t *testing.T) {
	ops := []Op{put(0, 1, "a"), got(2, 3, "a"), op(8, Never, Delete), gone(10, 20), del(30, 40), got(25, 26, "a"), got(27, 28, "a"), op(50, 51, Get, bytes("a"), func(o *Op) { o.Node = "n2" })}
	MarkStale(ops, 5, func(node string, from, to time.Duration) bool { return node == "n2" && from == 15 && to == 51 })
	for i, want := range []bool{false, false, false, false, false, true, false, true} {
		if ops[i].Stale != want {
			t.Errorf("%v: stale %v", ops[i], ops[i].Stale)
		}
	}
	ops = []Op{put(0, 1, "a"), loss(2), got(3, 4, "a"), got(7, 8, "a")}
	MarkStale(ops, 5, func(_ string, from, to time.Duration) bool { return from == 7 && to == 8 })
	if ops[2].Stale || !ops[3].Stale {
		t.Errorf("after a loss: %v, %v", ops[2], ops[3])
	}
}
