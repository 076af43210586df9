package ask

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

func TestReportsAboutOneObjectFollowEachOther(t *testing.T) {
	var r reports
	gen := phalanx.Generation{Epoch: 1, Seq: 1}
	done, drop := directory.Done{Lease: 1, Gen: gen, Complete: true}, directory.Drop{Gen: gen}
	add := func(id phalanx.ObjectID, num uint64, body directory.Body, want bool, with uint64) {
		t.Helper()
		if now, joins := r.Add(id, num, body); now != want || joins != with {
			t.Errorf("report %d of %s is sent: %v, joins %d, want %v, %d", num, id, now, joins, want, with)
		}
	}
	over := func(id phalanx.ObjectID, num, want uint64) {
		t.Helper()
		if next := r.Over(id, num); next != want {
			t.Errorf("after report %d of %s follows %d, want %d", num, id, next, want)
		}
	}
	add("x", 1, directory.Announce{Gen: gen, Begun: true}, true, 0)
	add("y", 2, done, true, 0) // another object does not wait
	add("x", 5, drop, false, 0)
	add("x", 3, done, false, 0) // was numbered before, and comes after
	add("x", 7, drop, false, 5) // says the same as the last waiting one
	add("x", 8, done, false, 0)
	over("x", 5, 0) // was given up
	over("x", 1, 3)
	over("x", 1, 0) // twice
	over("x", 3, 8)
	if len(r.lines) == 0 {
		t.Error("no report about x is left")
	}
	over("x", 8, 0)
	over("y", 2, 0)
	if len(r.lines) > 0 {
		t.Error("a report is left after the end of all")
	}
}

// The owner may have taken a report that is under way: an equal one follows it.
func TestAReportDoesNotJoinOneThatIsUnderWay(t *testing.T) {
	var r reports
	a := directory.Announce{Complete: true}
	for num, want := range []uint64{1: 0, 2: 0, 3: 2, 4: 2} {
		if num == 0 {
			continue
		}
		if _, joins := r.Add("x", uint64(num), a); joins != want {
			t.Errorf("report %d joins %d, want %d", num, joins, want)
		}
	}
	if next := r.Over("x", 1); next != 2 {
		t.Errorf("%d follows, want 2", next)
	}
}

func BenchmarkReports(b *testing.B) {
	ids := make([]phalanx.ObjectID, 100_000)
	for i := range ids {
		ids[i] = phalanx.ObjectID(fmt.Sprint("x/", i))
	}
	var r reports
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := ids[i%len(ids)]
		r.Add(id, uint64(i+1), directory.Drop{})
		r.Over(id, uint64(i+1))
	}
}
