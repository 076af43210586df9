package workflow

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Row is a row of the ledger: the host puts Value under Key, encoded; or it deletes Key, if Value is nil, or
// the keys of [Key, End), if End is not empty. Keys are:
//
//	id/ID                  Name      the run of an id
//	active/UID             Active    a run that has something to do: a new controller reads these runs only
//	waiting/UID            Active    a run that only waits: for a Resume, for a signal
//	run/UID/start          Started   the workflow; it means nothing without the row active or waiting
//	run/UID/part/n         Part      its recorded form, in pieces, before the row start
//	run/UID/log/n          Batch     what has happened
//	run/UID/out/TASK.EPOCH.n         OutputBytes, of Ended in a Batch
//	run/UID/blob/TASK.GEN  Places    the disks that have a checkpoint
//	run/UID/result/n       Result    in pieces
//	until/MINUTE/ID        Active    when the row of an id goes
//	wake/MINUTE/ID         Active    when a run that sleeps is loaded
//	executor/NODE          Known     a node that may have attempts
//	view                   Known     the last view by which a node has left: no controller takes an older one
//	clock                  Clock
type Row struct {
	Key, End string
	Value    RowValue
}

// RowValue is what a row says.
type RowValue interface {
	// size returns about how many bytes the value takes.
	size() int
}

type (
	// Name says which run an id has.
	Name struct {
		Run    UID
		Digest phalanx.Digest // of its Work
		Key    string         // of the caller that has started it
		State  State
		Why    string   // it waits, or it has failed
		Lost   []string // of Waiting: Status.Lost
		Until  uint64   // of Finished and Forgotten: the minute in which the row goes; of Waiting: in which it is loaded; 0: in none
	}

	// Started is a run's workflow. A host that writes it leaves Work away, which is in parts; a host that reads
	// it puts Work together of them.
	Started struct {
		Run  UID
		ID   string
		Key  string // of the caller
		Work *Work
	}

	// Part is a piece of the recorded form of a Work.
	Part struct{ Bytes []byte }

	// Active marks a run.
	Active struct{}

	// Batch has records of one event. It means nothing while More is set and the next Batch of Epoch is not there.
	Batch struct {
		Epoch   uint64
		At      time.Duration // by the ledger's clock, which counts the time of leaders
		More    bool
		Records []Record
	}

	// OutputBytes is an output of at most MaxRecorded bytes.
	OutputBytes struct{ Bytes []byte }

	// Places are the disks that have the checkpoint of an output.
	Places struct {
		Blob  Blob
		Disks []string
	}

	// Result is how a run has ended: well, if Failed is empty. A row has some of the outputs.
	Result struct {
		Failed  string
		Outputs []Located // of the tasks that nobody reads
	}

	// Known says in which view a node was when the controller began to send it attempts, or in which others have
	// left.
	Known struct{ View ViewNumber }

	// Clock counts the minutes for which leaders have led.
	Clock struct{ Minute uint64 }
)

// State is how a run stands.
type State uint8

// The states of a run.
const (
	Open      State = iota + 1
	Waiting         // it only waits
	Ending          // it goes back
	Finished        // it has ended
	Forgotten       // its id cannot be used yet
)

// Located says where an output is.
type Located struct {
	Task   int
	Gen    uint32
	Made   Attempt // the attempt that has made it: a part of the object's name
	Output Output
	Row    string   // has the bytes, if Output is recorded and they are not here: the host adds them
	Disks  []string // have its checkpoint

	Deterministic bool // the task is: the object's name has no attempt
	Off           bool // the task has no checkpoint: no row has the bytes
}

func (s Started) size() int     { return 32 + len(s.ID) + len(s.Key) }
func (p Part) size() int        { return len(p.Bytes) }
func (Active) size() int        { return 0 }
func (o OutputBytes) size() int { return len(o.Bytes) }
func (Known) size() int         { return 16 }
func (Clock) size() int         { return 8 }

func (n Name) size() int {
	all := 96 + len(n.Key) + len(n.Why)
	for _, task := range n.Lost {
		all += len(task) + 2
	}
	return all
}

func (p Places) size() int {
	n := 56
	for _, d := range p.Disks {
		n += len(d) + 2
	}
	return n
}

func (r Result) size() int {
	n := len(r.Failed)
	for _, o := range r.Outputs {
		n += o.size()
	}
	return n
}

func (l Located) size() int {
	n := 96 + len(l.Output.Bytes) + len(l.Output.Error) + len(l.Row) + namesSize(l.Output.Names)
	for _, d := range l.Disks {
		n += len(d) + 2
	}
	return n
}

func namesSize(names []string) (n int) {
	for _, s := range names {
		n += len(s) + 3
	}
	return n
}

func (b Batch) size() int {
	n := 24
	for _, r := range b.Records {
		n += recordSize(r)
	}
	return n
}

func recordSize(r Record) int {
	switch r := r.(type) {
	case Ended:
		return 96 + len(r.Output.Bytes) + len(r.Output.Error) + namesSize(r.Output.Names)
	case Recovering:
		return 8 + 4*len(r.Set)
	case Expanded:
		if w, is := r.Work.(*Work); is {
			return 64 + w.size()
		}
	case Signalled:
		return 24 + len(r.Name) + len(r.ID) + len(r.Bytes)
	case Resumed:
		n := 8
		for _, f := range r.Versions {
			n += 12 + len(f.Name)
		}
		return n
	case Failing:
		return 8 + len(r.Cause)
	case Cancelled:
		return 8 + len(r.Cause)
	case Closed:
		return 8 + len(r.Failed)
	}
	return 40
}

func (r Row) size() int {
	n := 16 + len(r.Key) + len(r.End)
	if r.Value != nil {
		n += r.Value.size()
	}
	return n
}

func idKey(id string) string           { return "id/" + id }
func activeKey(u UID) string           { return "active/" + u.String() }
func waitingKey(u UID) string          { return "waiting/" + u.String() }
func runKey(u UID, rest string) string { return "run/" + u.String() + "/" + rest }
func runEnd(u UID) string              { return "run/" + u.String() + "0" } // '0' follows '/'
func logKey(u UID, n uint64) string    { return runKey(u, fmt.Sprintf("log/%016x", n)) }
func partKey(u UID, n int) string      { return runKey(u, fmt.Sprintf("part/%08x", n)) }
func resultKey(u UID, n int) string    { return runKey(u, fmt.Sprintf("result/%08x", n)) }
func wakeKey(minute uint64, id string) string {
	return fmt.Sprintf("wake/%016x/%s", minute, id)
}
func untilKey(minute uint64, id string) string {
	return fmt.Sprintf("until/%016x/%s", minute, id)
}
func executorKey(n phalanx.NodeID) string { return "executor/" + string(n) }

func outKey(u UID, v int, made Attempt) string {
	return runKey(u, fmt.Sprintf("out/%08x.%016x.%016x", v, made.Epoch, made.Number))
}

// OutputRow returns the key of the row that has the bytes of an output, once it is durable.
func OutputRow(u UID, l Located) string { return outKey(u, l.Task, l.Made) }

func blobKey(u UID, v int, gen uint32) string {
	return runKey(u, fmt.Sprintf("blob/%08x.%08x", v, gen))
}
