package soak

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// order is an order of the driver to a process.
type order struct {
	N        uint64 // names the answer
	Do       string // put, get, open, prefetch, delete, stat, list, reduce or state; or of a run: start, await, look, resume, forget, runs or disks
	Object   phalanx.ObjectID
	Seed     string // of the bytes of a put
	Size     int64
	Unsized  bool // the put does not tell the size
	Array    bool // of int64
	Copies   int
	Try      bool // do not wait for another client to begin the object
	Sources  []phalanx.ObjectID
	Num      int
	Deadline time.Duration
	Rest     bool          // of a state: collect garbage, and report the heap
	Cancel   time.Duration // the caller goes away after that; 0: it does not
	Hold     time.Duration // a get keeps its view for so long, an open rests for so long in the midst
	Run      *program      `json:",omitempty"`
}

// String returns the parts of the order that may decide its outcome.
func (o order) String() string {
	s := fmt.Sprintf("%s %s", o.Do, o.Object)
	for _, part := range []struct {
		is   bool
		text string
	}{
		{o.Try, "without waiting"}, {o.Unsized, "of unknown size"}, {o.Copies > 1, fmt.Sprint(o.Copies, " copies")},
		{o.Deadline != callDeadline, fmt.Sprint("within ", o.Deadline)}, {o.Cancel > 0, fmt.Sprint("canceled after ", o.Cancel)},
		{o.Hold > 0, fmt.Sprint("held for ", o.Hold)},
	} {
		if part.is {
			s += ", " + part.text
		}
	}
	return s
}

// line is a line that a process writes: an answer, or an event of its node.
type line struct {
	N       uint64
	Kind    phalanx.Kind       `json:",omitempty"`
	Err     string             `json:",omitempty"`
	Version string             `json:",omitempty"` // of a get: the hash of the bytes
	Size    int64              `json:",omitempty"`
	Inline  bool               `json:",omitempty"` // of a stat
	State   string             `json:",omitempty"`
	Pinned  int                `json:",omitempty"` // complete pinned copies
	In      []phalanx.ObjectID `json:",omitempty"`
	Of      []phalanx.NodeID   `json:",omitempty"` // of a list: who has put In
	Out     []phalanx.ObjectID `json:",omitempty"`
	Took    time.Duration      `json:",omitempty"`
	Node    *nodeState         `json:",omitempty"`
	Run     *runState          `json:",omitempty"`

	Stood time.Duration   `json:",omitempty"` // the process stood still for so long
	Event string          `json:",omitempty"`
	Data  json.RawMessage `json:",omitempty"`
}

// nodeState is a process's report of itself.
type nodeState struct {
	ID      phalanx.NodeID
	Control string
	View    uint64
	Members []phalanx.NodeID
	Voters  int
	Enough  bool   // the cluster has as many voters as it should
	Evicted uint64 // copies, since it began
	Whole   bool   // every shard has an owner and a backup that are members, and no shard moves
	Figures
}

// Figures are the resources that must not grow.
type Figures struct {
	Objects     int   `json:"objects"`  // copies, also partial ones
	Fetching    int   `json:"fetching"` // objects that arrive
	Reduces     int   `json:"reduces"`
	Places      int   `json:"places"`
	Memory      int64 `json:"memory"`    // bytes in use, without buffers kept for reuse, the directory and services
	Directory   int64 `json:"directory"` // bytes; tombstones stay for 20 minutes
	Services    int64 `json:"services"`  // bytes: the end of the ledger
	Lasting     int64 `json:"lasting"`   // bytes that are pinned or reserved, without the directory and services
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"` // -1: the system does not say
	Heap        int64 `json:"heap"`        // bytes in use at rest, of the whole process; else 0
	Disk        int64 `json:"disk"`        // bytes in the folder of a node of workflows
}

func (n *nodeState) fill(node *cluster.Node) {
	v, s := node.View(), node.Status()
	n.ID, n.Control, n.View, n.Voters, n.Whole = node.ID(), node.ControlAddr(), v.Number, len(v.Voters), len(v.Shards) > 0
	n.Enough = v.Redundant(0)
	for _, m := range v.Members {
		n.Members = append(n.Members, m.ID)
	}
	for _, row := range v.Shards {
		if !v.Has(row.Owner) || !v.Has(row.Backup) || row.Next != "" {
			n.Whole = false
		}
	}
	n.Evicted = s.Evictions
	n.Objects, n.Fetching, n.Reduces, n.Places = s.Objects, s.Fetching, s.Reduces, s.Places
	n.Directory, n.Services = s.Memory.Directory, s.Memory.Services
	n.Memory = s.Memory.Used - s.Memory.Idle - n.Directory - n.Services
	n.Lasting = s.Memory.Pinned + s.Memory.Reserved - n.Directory - n.Services
}
