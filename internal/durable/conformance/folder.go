package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

func entryText(e *raftpb.Entry) string {
	return fmt.Sprintf("%d.%d:%s", e.GetIndex(), e.GetTerm(), e.GetData())
}

// is checks an error.
func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error %v, want %v", err, want)
	}
}

// same checks that a value is as expected.
func same[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func identityStays(f *fixture) {
	first := f.Identity()
	if first.Disk == 0 || first.Disk >= 1<<48 || first.Cluster != "" || first.Opens != 1 {
		f.Fatalf("a new folder is %+v", first)
	}
	f.reopen()
	same(f, "after Close", f.Identity(), durable.Identity{Disk: first.Disk, Opens: 2})
	f.crash()
	same(f, "after a crash", f.Identity(), durable.Identity{Disk: first.Disk, Opens: 3})
	if o := f.other(); o.Identity().Disk == first.Disk {
		f.Errorf("two folders have the id %x", first.Disk)
	}
}

func clusterIsForGood(f *fixture) {
	f.is(f.Join(""), durable.ErrInvalid)
	f.is(f.Join(strings.Repeat("x", durable.MaxCluster+1)), durable.ErrInvalid)
	f.ok(f.Join("one"))
	f.ok(f.Join("one"))
	f.is(f.Join("two"), durable.ErrOtherCluster)
	same(f, "the cluster", f.Identity().Cluster, "one")
	f.bed.Crash()
	_, err := f.bed.Open("two")
	f.is(err, durable.ErrOtherCluster)
	var open *durable.OpenError
	if !errors.As(err, &open) || open.Problem != durable.ErrOtherCluster {
		f.Errorf("Open: %#v", err)
	}
	f.open()
	same(f, "the cluster after a crash", f.Identity().Cluster, "one")
	same(f, "a refused open counted", f.Identity().Opens, 2)
}

func folderRemembers(f *fixture) {
	same(f, "a new folder's members", len(f.Remembered()), 0)
	f.is(f.Remember(make([]string, 1)), durable.ErrInvalid)
	f.is(f.Remember([]string{"a\xff:1"}), durable.ErrInvalid) // it would come back changed
	f.is(f.Remember([]string{strings.Repeat("x", durable.MaxAddress+1)}), durable.ErrInvalid)
	f.is(f.Remember(slices.Repeat([]string{"a:1"}, durable.MaxMembers+1)), durable.ErrInvalid)
	f.ok(f.Remember([]string{"a:1", "b:2"}))
	f.ok(f.Remember([]string{"b:2", "c:3"}))
	f.ok(f.SawBoot(7))
	f.ok(f.SawBoot(3))
	f.ok(f.SawGeneration(9))
	f.ok(f.SawGeneration(8))
	f.crash()
	same(f, "members", f.Remembered(), []string{"b:2", "c:3"})
	same(f, "boot", f.Boot(), 7)
	same(f, "generation", f.Generation(), 9)
}

func replicasHaveNewIDs(f *fixture) {
	same(f, "a folder without replica", f.state(), ledger.State{})
	first := f.begin()
	same(f, "the disk in the id", first>>16, f.Identity().Disk)
	f.write(ledger.Write{Rows: puts("k", "v"), Applied: 1, Entries: entries(1, 1, "a"), Hard: hard(1, 2, 1)})
	same(f, "the replica", f.state().Replica, first)
	second := f.begin()
	if second <= first || second>>16 != first>>16 {
		f.Errorf("the second replica has the id %x, the first %x", second, first)
	}
	f.crash()
	s := f.state()
	same(f, "the replica after a crash", s.Replica, second)
	same(f, "rows of a new replica", f.rows(""), []string{})
	same(f, "its log", log(s), []string{})
	same(f, "what it has applied", s.Applied, 0)
	same(f, "its vote", s.Hard.GetVote(), 0)
	f.write(ledger.Write{Entries: entries(1, 1, "b")})
	same(f, "its new log", log(f.state()), []string{"1.1:b"})
}
