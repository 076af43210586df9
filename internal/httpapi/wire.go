package httpapi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// The JSON of the interface. Sizes are bytes, -1 if they are not known yet.
type (
	// Info describes an object.
	Info struct {
		ID         phalanx.ObjectID `json:"id"`
		Size       int64            `json:"size"`
		DType      string           `json:"dtype"`
		Shape      []int64          `json:"shape,omitempty"`
		Generation string           `json:"generation,omitempty"`
		Digest     string           `json:"digest,omitempty"` // once it is final
	}

	// PutResult answers a PUT. Created is false if the same bytes existed.
	PutResult struct {
		Info
		Created bool `json:"created"`
	}

	// Object is the directory's state of an object.
	Object struct {
		Info
		State   string           `json:"state"` // begun, final or lost
		Inline  bool             `json:"inline"`
		Origin  phalanx.NodeID   `json:"origin,omitempty"` // the node that makes or made the bytes
		Holders []Holder         `json:"holders,omitempty"`
		Waiting []phalanx.NodeID `json:"waiting,omitempty"`
	}

	// Holder is a node with a copy.
	Holder struct {
		Node     phalanx.NodeID `json:"node"`
		Complete bool           `json:"complete"`
		Pinned   bool           `json:"pinned"`
		Origin   bool           `json:"origin"`
		Upstream phalanx.NodeID `json:"upstream,omitempty"` // the node from which it reads
	}

	// List is a list of objects, without their holders.
	List struct {
		Objects []Object `json:"objects"`
	}

	// ReduceRequest asks for a reduce. Timeout is a duration such as "30s".
	ReduceRequest struct {
		Target  phalanx.ObjectID   `json:"target"`
		Sources []phalanx.ObjectID `json:"sources"`
		Op      phalanx.Op         `json:"op"`
		Num     int                `json:"num,omitempty"`    // 0: all
		Degree  int                `json:"degree,omitempty"` // of the tree; 0: the fastest
		Timeout string             `json:"timeout,omitempty"`
	}

	// ReduceResult names the sources in the target.
	ReduceResult struct {
		Target     phalanx.ObjectID   `json:"target"`
		Size       int64              `json:"size"`
		DType      string             `json:"dtype"`
		Shape      []int64            `json:"shape,omitempty"`
		Generation string             `json:"generation,omitempty"`
		Digest     string             `json:"digest"`
		In         []phalanx.ObjectID `json:"in"` // in order of arrival
		Out        []phalanx.ObjectID `json:"out"`
	}

	// GatherRequest asks for the first Num of Sources that can be had.
	GatherRequest struct {
		Sources []phalanx.ObjectID `json:"sources"`
		Num     int                `json:"num,omitempty"` // 0: all
		Timeout string             `json:"timeout,omitempty"`
	}

	// GatherResult names the objects that the node has now.
	GatherResult struct {
		In  []Info             `json:"in"` // in order of arrival
		Out []phalanx.ObjectID `json:"out"`
	}

	// BenchRequest asks for an operation to be measured.
	BenchRequest struct {
		Op      string `json:"op"`              // broadcast, gather, reduce, allreduce or roundtrip
		Size    int64  `json:"size"`            // of an object in bytes
		Nodes   int    `json:"nodes,omitempty"` // 0: all
		Runs    int    `json:"runs,omitempty"`  // 0: 5
		Timeout string `json:"timeout,omitempty"`
	}

	// BenchResult says how long the runs took, from the first message to the last.
	BenchResult struct {
		Op    string           `json:"op"`
		Size  int64            `json:"size"`
		Nodes []phalanx.NodeID `json:"nodes"`
		Ms    []float64        `json:"ms"`
	}

	// PrefetchRequest asks Nodes, or all if there are none, to have an object.
	PrefetchRequest struct {
		ID      phalanx.ObjectID `json:"id"`
		Nodes   []phalanx.NodeID `json:"nodes,omitempty"`
		Timeout string           `json:"timeout,omitempty"`
	}

	// Tree is the live broadcast or reduce tree of an object. Bytes flow along
	// its edges.
	Tree struct {
		Object phalanx.ObjectID `json:"object"`
		Kind   string           `json:"kind"` // broadcast or reduce
		State  string           `json:"state"`
		Size   int64            `json:"size"`
		Degree int              `json:"degree,omitempty"` // of a reduce
		Hidden int              `json:"hidden,omitempty"` // nodes that are left out, in a tree of very many
		Nodes  []TreeNode       `json:"nodes"`
		Edges  []TreeEdge       `json:"edges"`
	}

	// TreeNode is a copy of a broadcast, or a place of a reduce.
	TreeNode struct {
		Node       phalanx.NodeID   `json:"node"`
		Place      int              `json:"place"`                // in a reduce
		Source     phalanx.ObjectID `json:"source,omitempty"`     // in a reduce
		Generation string           `json:"generation,omitempty"` // in a reduce: attempt/number of the place's output
		Lost       bool             `json:"lost,omitempty"`       // in a reduce: the place runs no more
		Complete   bool             `json:"complete"`
		Pinned     bool             `json:"pinned"`
		Origin     bool             `json:"origin"` // it makes the object; in a reduce, it is the root
		Held       int64            `json:"held"`   // bytes of the object, or that the place has made; -1 if it is not known
	}

	// TreeEdge is a stream.
	TreeEdge struct {
		From      phalanx.NodeID `json:"from"`
		To        phalanx.NodeID `json:"to"`
		FromPlace int            `json:"from_place"` // in a reduce
		ToPlace   int            `json:"to_place"`
	}

	// Status is a node's view of the cluster and of itself.
	Status struct {
		Node           phalanx.NodeID   `json:"node"`
		Cluster        string           `json:"cluster"`
		Version        string           `json:"version"`
		Uptime         float64          `json:"uptime_seconds"`
		View           uint64           `json:"view"`
		Members        []Member         `json:"members"`
		Voters         []phalanx.NodeID `json:"voters"`
		Leader         phalanx.NodeID   `json:"leader,omitempty"`          // of the voters; absent while the node knows of none
		Formed         int              `json:"formed,omitempty"`          // how often the cluster was formed anew
		MissingMembers []phalanx.NodeID `json:"missing_members,omitempty"` // then, in whose name no node has come since
		Unready        *ErrorInfo       `json:"unready,omitempty"`         // why the node cannot be given work; nil if it can
		MajorityLost   bool             `json:"majority_lost"`             // of the voters, as the node sees it
		MissingVoters  []phalanx.NodeID `json:"missing_voters,omitempty"`  // while it is lost: voters that the node does not hear
		ShardsOwned    int              `json:"shards_owned"`
		ShardsBackedUp int              `json:"shards_backed_up"`
		Memory         Memory           `json:"memory"`
		Objects        int              `json:"objects"` // of which this node has a copy, also partial
		Complete       int              `json:"complete"`
		Pinned         int              `json:"pinned"`
		Evictions      uint64           `json:"evictions"` // copies that were dropped for room
		Fetching       int              `json:"fetching"`
		Reduces        int              `json:"reduces"` // that this node coordinates
		Places         int              `json:"places"`  // of reduces, on this node
		BytesSent      uint64           `json:"bytes_sent"`
		BytesReceived  uint64           `json:"bytes_received"`
		Requests       uint64           `json:"requests"`     // of this node to directory shards
		StreamsBusy    uint64           `json:"streams_busy"` // that nodes asked for beyond the limit for one node
	}

	// RecoverRequest has the node form the cluster anew from the members that live. Force:
	// however few answer.
	RecoverRequest struct {
		Force   bool   `json:"force,omitempty"`
		Timeout string `json:"timeout,omitempty"`
	}

	// RecoverResult is the result of a recover.
	RecoverResult struct {
		View       uint64           `json:"view"`
		Members    []phalanx.NodeID `json:"members"`
		Missing    []phalanx.NodeID `json:"missing"`
		LostShards int              `json:"lost_shards"`
	}

	// Member is a node of the view.
	Member struct {
		Node    phalanx.NodeID `json:"node"`
		Control string         `json:"control"`
		Data    string         `json:"data"`
		Version string         `json:"version"`
		Leaving bool           `json:"leaving,omitempty"`
	}

	// Memory is in bytes, but for Waiting, which is a number of requests.
	Memory struct {
		Cap       int64 `json:"cap"`
		Used      int64 `json:"used"`
		Idle      int64 `json:"idle"`      // of Used: kept for reuse, given up as soon as there is need
		Directory int64 `json:"directory"` // of Used: records and inline bytes
		Services  int64 `json:"services"`  // of Used: the state of barriers and groups
		Peak      int64 `json:"peak"`

		Waiting      int   `json:"waiting"` // requests that wait for memory
		WaitingBytes int64 `json:"waiting_bytes"`
	}

	// errorBody is the body of an answer that is not 2xx.
	errorBody struct {
		Error ErrorInfo `json:"error"`
	}

	// ErrorInfo is a *phalanx.Error.
	ErrorInfo struct {
		Kind    string           `json:"kind"`
		Op      string           `json:"op,omitempty"`
		Object  phalanx.ObjectID `json:"object,omitempty"`
		Node    phalanx.NodeID   `json:"node,omitempty"`
		Message string           `json:"message"`
	}
)

// DescribeError returns err as the interface tells it.
func DescribeError(err error) ErrorInfo {
	e := typed(err)
	info := ErrorInfo{Kind: e.Kind.Error(), Op: e.Op, Object: e.Object, Node: e.Node}
	if e.Err != nil {
		info.Message = e.Err.Error()
	}
	return info
}

// Err is the inverse of DescribeError.
func (i ErrorInfo) Err() *phalanx.Error {
	e := &phalanx.Error{Op: i.Op, Object: i.Object, Node: i.Node, Kind: phalanx.ErrInternal}
	if i.Message != "" {
		e.Err = errors.New(i.Message)
	}
	if k, ok := parseKind(i.Kind); ok {
		e.Kind = k
	}
	return e
}

func parseKind(name string) (phalanx.Kind, bool) {
	for _, k := range phalanx.Kinds() {
		if k.Error() == name {
			return k, true
		}
	}
	return 0, false
}

func infoOf(i storenode.Info) Info {
	info := Info{ID: i.Object, Size: i.Meta.Size, DType: i.Meta.DType.String(), Shape: i.Meta.Shape}
	if !i.Gen.IsZero() {
		info.Generation = i.Gen.String()
	}
	if !i.Digest.IsZero() {
		info.Digest = i.Digest.String()
	}
	return info
}

func objectOf(s storenode.ObjectStat) Object {
	o := Object{Info: infoOf(storenode.Info{Object: s.Object, Gen: s.Gen, Meta: s.Meta, Digest: s.Digest}),
		State: s.State.String(), Inline: s.Inline, Origin: s.Origin, Waiting: s.Waiting}
	for _, h := range s.Holders {
		o.Holders = append(o.Holders, Holder(h))
	}
	return o
}

func resultOf(r storenode.ReduceResult) ReduceResult {
	i := infoOf(r.Info)
	out := ReduceResult{Target: i.ID, Size: i.Size, DType: i.DType, Shape: i.Shape, Generation: i.Generation, Digest: i.Digest,
		In: []phalanx.ObjectID{}, Out: []phalanx.ObjectID{}}
	out.In = append(out.In, r.In...)
	out.Out = append(out.Out, r.Out...)
	return out
}

// FormatShape returns, for example, "3,4".
func FormatShape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(parts, ",")
}

// ParseShape is the inverse of FormatShape; "" is no shape.
func ParseShape(s string) ([]int64, error) {
	if s == "" {
		return nil, nil
	}
	var shape []int64
	for part := range strings.SplitSeq(s, ",") {
		d, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || d < 0 {
			return nil, &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf("the shape %q is not a list of numbers such as 3,4", s)}
		}
		shape = append(shape, d)
	}
	return shape, nil
}

// asks returns how long a call may take, and the objects that it names.
func (r *ReduceRequest) asks() (string, []phalanx.ObjectID) {
	return r.Timeout, append([]phalanx.ObjectID{r.Target}, r.Sources...)
}

func (r *GatherRequest) asks() (string, []phalanx.ObjectID) { return r.Timeout, r.Sources }

func (r *BenchRequest) asks() (string, []phalanx.ObjectID) { return r.Timeout, nil }

func (r *RecoverRequest) asks() (string, []phalanx.ObjectID) { return r.Timeout, nil }

func (r *PrefetchRequest) asks() (string, []phalanx.ObjectID) {
	return r.Timeout, []phalanx.ObjectID{r.ID}
}
