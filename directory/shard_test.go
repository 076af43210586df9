package directory

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A replica that was restarted knows a view that is newer than those on their way to it.
func TestAViewOfBeforeARestart(t *testing.T) {
	s, _, _, _, _ := full(1 << 20)
	s.views = 5
	if s.configure(nil, configured{Configure: core.Configure{Epoch: 9, Owner: "z"}, views: 4}); s.views != 5 {
		t.Errorf("it has taken view %d", s.views)
	}
}

// A lease is of a view, and counts for a replica that knows that view.
func TestALeaseWaitsForItsView(t *testing.T) {
	s, _, _, _, _ := full(1 << 20)
	for views, counts := range map[uint64]bool{s.views: true, s.views + 1: false} {
		l := &lease{until: time.Hour, views: views}
		s.host.lease.Store(l)
		if s.look(); (s.lease == l) != counts {
			t.Errorf("a lease of view %d counts in view %d: %v", views, s.views, !counts)
		}
	}
}

// Bytes that do not have the digest that they came with are refused.
func TestBytesHaveTheirDigest(t *testing.T) {
	s, _, out, _, _ := full(1 << 20)
	s.owns, out.sent = true, nil
	r := core.Request{From: "b", Num: 1, Object: "x", Body: core.PutInline{Bytes: []byte("hello"), Digest: phalanx.Digest{1}}}
	if s.honest(r) || len(out.sent) != 1 {
		t.Errorf("it takes them: %+v", out.sent)
	}
	r.Body = core.PutInline{Bytes: []byte("hello"), Digest: dataplane.DigestBytes([]byte("hello"))}
	if !s.honest(r) {
		t.Error("it refuses those that are right")
	}
}

// A node that has no replica of a shard answers at once that it does not own it.
func TestANodeWithoutTheShard(t *testing.T) {
	out := new(outbox)
	h := NewHost(HostConfig{Self: "a", Transport: out})
	h.Handle(3, core.Request{From: "b", Num: 7, Object: "x", Body: core.Locate{}})
	if len(out.sent) != 1 {
		t.Fatalf("%+v", out.sent)
	}
	if r, ok := out.sent[0].(core.Reply); !ok || r.To != "b" || r.Num != 7 || !r.Result.NotOwner {
		t.Errorf("%+v", out.sent[0])
	}
}
