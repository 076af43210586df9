// Package conformance tests what durable.Store promises. Every implementation runs it.
package conformance

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Bed is one folder, and the faults that can befall it.
type Bed interface {
	// Open opens the folder: for the first time, or after Close or Crash.
	Open(cluster string) (durable.Store, error)
	// Crash ends the process that uses the folder and loses all that was not synced.
	Crash()
	// Fail makes the next sync fail. Later ones succeed.
	Fail()
	// Full uses up the space of the file system, but for what what runs may use.
	Full(bool)
	// Corrupt changes a byte of the blob under place.
	Corrupt(place string)
}

// Run tests the implementation of beds that make makes.
func Run(t *testing.T, make func(t *testing.T) Bed) {
	for _, c := range []struct {
		name  string
		check func(*fixture)
	}{
		{"IdentityStays", identityStays},
		{"ClusterIsForGood", clusterIsForGood},
		{"FolderRemembers", folderRemembers},
		{"ReplicasHaveNewIDs", replicasHaveNewIDs},
		{"RowsArePutAndDeleted", rowsArePutAndDeleted},
		{"ScanIsInOrder", scanIsInOrder},
		{"RangesHaveEnds", rangesHaveEnds},
		{"LogIsReplacedAndCompacted", logIsReplacedAndCompacted},
		{"StateIsWhatWasWritten", stateIsWhatWasWritten},
		{"SyncedWritesSurvive", syncedWritesSurvive},
		{"ASyncCoversWhatCameBefore", aSyncCoversWhatCameBefore},
		{"AnswersComeInOrder", answersComeInOrder},
		{"InvalidWritesPoison", invalidWritesPoison},
		{"SnapshotIsInstalled", snapshotIsInstalled},
		{"InstallSurvives", installSurvives},
		{"SnapshotIsOfOneMoment", snapshotIsOfOneMoment},
		{"ChangedStreamsAreRefused", changedStreamsAreRefused},
		{"StreamsEnd", streamsEnd},
		{"FailedSyncPoisons", failedSyncPoisons},
		{"ClosedStoreAnswers", closedStoreAnswers},
		{"BlobsAreKept", blobsAreKept},
		{"BlobsAreChecked", blobsAreChecked},
		{"PlacesStayInside", placesStayInside},
		{"ReserveIsKept", reserveIsKept},
		{"ReserveIsShared", reserveIsShared},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{T: t, make: make, bed: make(t)}
			f.open()
			defer func() { _ = f.Store.Close() }() // a check may have closed or poisoned it
			c.check(f)
		})
	}
}

// fixture is an open store in its bed.
type fixture struct {
	*testing.T
	durable.Store
	make func(*testing.T) Bed
	bed  Bed
	next uint64 // number of the next Write
}

// other returns a second folder, opened.
func (f *fixture) other() *fixture {
	o := &fixture{T: f.T, make: f.make, bed: f.make(f.T)}
	o.open()
	f.Cleanup(func() { _ = o.Store.Close() }) // a check may have poisoned it
	return o
}

func (f *fixture) open() {
	f.Helper()
	s, err := f.bed.Open("")
	if err != nil {
		f.Fatalf("Open: %v", err)
	}
	f.Store = s
}

// reopen closes the folder in good order and opens it again.
func (f *fixture) reopen() {
	f.Helper()
	f.ok(f.Store.Close())
	f.open()
}

// crash crashes and opens the folder again.
func (f *fixture) crash() {
	f.Helper()
	f.bed.Crash()
	f.open()
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("error %v", err)
	}
}

// begin begins a replica.
func (f *fixture) begin() uint64 {
	f.Helper()
	id, err := f.Begin()
	f.ok(err)
	return id
}

// try applies w and returns its answer.
func (f *fixture) try(w ledger.Write) error {
	done := make(chan error, 1)
	f.next++
	w.Number = f.next
	f.Apply(w, func(err error) { done <- err })
	return <-done
}

// write applies w, synced.
func (f *fixture) write(w ledger.Write) {
	f.Helper()
	w.Sync = true
	f.ok(f.try(w))
}

// rows returns all rows as key, value, key, value …
func (f *fixture) rows(prefix string) []string {
	f.Helper()
	all := []string{}
	f.ok(f.Scan(prefix, func(r ledger.Row) bool {
		all = append(all, r.Key, string(r.Value))
		return true
	}))
	return all
}

func (f *fixture) state() ledger.State {
	f.Helper()
	s, err := f.State()
	f.ok(err)
	return s
}

func put(key, value string) ledger.Row { return ledger.Row{Key: key, Value: []byte(value)} }

// puts returns rows from key, value, key, value …
func puts(rows ...string) []ledger.Row {
	var all []ledger.Row
	for i := 0; i < len(rows); i += 2 {
		all = append(all, put(rows[i], rows[i+1]))
	}
	return all
}

// entries returns entries of a term, one after the other from an index on.
func entries(term, from uint64, data ...string) []*raftpb.Entry {
	var all []*raftpb.Entry
	for i, d := range data {
		all = append(all, &raftpb.Entry{Term: proto.Uint64(term), Index: proto.Uint64(from + uint64(i)), Data: []byte(d)})
	}
	return all
}

// log returns index.term:data of entries.
func log(s ledger.State) []string {
	all := []string{}
	for _, e := range s.Entries {
		all = append(all, entryText(e))
	}
	return all
}
