package directory

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A view that comes late changes nothing.
func TestALateViewChangesNothing(t *testing.T) {
	p := newPair()
	members := []phalanx.NodeID{"a", "b"}
	p.step(p.owner, Configure{Epoch: 3, Owner: "a", Backup: "b", Members: members})
	p.step(p.owner, Configure{Epoch: 2, Owner: "b", Backup: "a", Members: members})
	if v := p.owner.view; v.Epoch != 3 || v.Owner != "a" {
		t.Errorf("its view is %+v", v)
	}
}

// An owner that has missed a view sends its backup everything: that may have had another owner.
func TestAnOwnerThatMissedAView(t *testing.T) {
	for epoch, began := range map[uint64]uint64{2: 1, 3: 3} {
		p := newPair()
		p.step(p.owner, Configure{Epoch: epoch, Owner: "a", Backup: "b", Next: "c", Members: []phalanx.NodeID{"a", "b", "c"}})
		if st := p.owner.streams["b"]; st == nil || st.began != began {
			t.Errorf("after epoch 1 comes %d: the stream is %+v, and is to have begun in %d", epoch, st, began)
		}
	}
}

// Memory for a Put that is accepted, and waits for the backup, is not asked for again.
func TestAnAcceptedPutNeedsNoMoreMemory(t *testing.T) {
	p := newPair()
	r := Request{From: "b", Num: 7, Object: "x", Body: PutInline{Meta: phalanx.Meta{Size: 100}, Bytes: make([]byte, 100), Held: true}}
	if p.owner.Needs(r) == 0 {
		t.Error("it needs none")
	}
	p.owner.Step(p.now, r) // the backup hears nothing
	if n := p.owner.Needs(r); n != 0 {
		t.Errorf("it needs %d bytes again", n)
	}
}

// An acknowledgement of an earlier state does not count for the last one, which was lost.
func TestALateAcknowledgement(t *testing.T) {
	p := newPair()
	told := func(ev Event) (last *Readiness) {
		for _, e := range p.owner.Step(p.now, ev) {
			switch e := e.(type) {
			case Readiness:
				last = &e
			case SendReplicate:
				for _, c := range p.backup.Step(p.now, e.Replicate) {
					if c, ok := c.(SendConfirm); ok {
						for _, more := range p.owner.Step(p.now, c.Confirm) {
							if r, ok := more.(Readiness); ok {
								last = &r
							}
						}
					}
				}
			}
		}
		return last
	}
	first := told(Request{From: "b", Num: 100, Object: "x", Body: Watch{}})
	second := told(Request{From: "a", Num: 1, Object: "x", Body: PutInline{Meta: phalanx.Meta{Size: 5}, Bytes: []byte("hello"), Held: true}})
	if first == nil || second == nil || first.Version >= second.Version {
		t.Fatalf("told %v and %v", first, second)
	}
	told(WatchAcked{From: "b", Num: 100, Object: "x", Version: first.Version})
	p.now += 200 * time.Millisecond
	if again := told(Tick{}); again == nil || again.State != Finished {
		t.Errorf("told %v", again)
	}
}
