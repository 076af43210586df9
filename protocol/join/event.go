package join

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config fixes how a node joins.
type Config struct {
	Self  phalanx.NodeID
	Seeds []string // each is asked; none: it begins a cluster of its own

	// Members are asked as well until the node is ready. They were members when the node was
	// one itself, and are no seeds.
	Members []string

	AskFor     time.Duration // how long a seed may take to answer; 2 s
	AskEvery   time.Duration // pause between two questions to a seed, at most; 1 s
	PromiseFor time.Duration // how long a promise holds after it was told last; 5 s, longer than AskFor and AskEvery together
	ListenFor  time.Duration // how long a node waits, before it promises anything, for members of a cluster that lives; 1.5 s, three times RetryEvery
	MeetEvery  time.Duration // pause between two questions to a seed once the node is ready; 10 s
	RetryEvery time.Duration // the same, at least and on average, where the seed does not answer, or is in no cluster; 0.5 s

	// Again says that it was a member before: it begins no cluster, and where it is let in it
	// may serve.
	Again bool
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.AskFor, 2 * time.Second}, {&c.AskEvery, time.Second}, {&c.PromiseFor, 5 * time.Second}, {&c.ListenFor, 1500 * time.Millisecond},
		{&c.MeetEvery, 10 * time.Second}, {&c.RetryEvery, 500 * time.Millisecond}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// Answer is the answer of a node, about itself.
type Answer struct {
	From    phalanx.NodeID
	Cluster phalanx.NodeID // its cluster, by the node that has begun it; "": it is in none
	Ready   bool           // and that cluster is ready, as far as it knows
	Promise phalanx.NodeID // the node that it joins if that begins a cluster; "": it has not chosen
	Stuck   string         // why its cluster admits no node; "": it does, as far as it knows
}

// Event is something that a Core hears of.
type Event interface{ event() }

type (
	// Start begins.
	Start struct{}

	// Answered brings the answer to an Ask, or says why there is none.
	Answered struct {
		Seed   string
		Num    uint64 // of that Ask
		Answer Answer
		Err    error // nil: there is an answer
	}

	// Asked says that a node asks this one, which then answers with Core.Answer. By is the
	// other node's own answer, and At its address.
	Asked struct {
		By Answer
		At string
	}

	// Broken says that a connection with another node has broken: it may have been a seed.
	Broken struct{}

	// Viewed names the cluster of the node's view and the number of its members; the node is
	// one of them.
	Viewed struct {
		Cluster phalanx.NodeID
		Members int
	}

	// Tick lets time pass.
	Tick struct{}
)

func (Start) event()    {}
func (Answered) event() {}
func (Asked) event()    {}
func (Broken) event()   {}
func (Viewed) event()   {}
func (Tick) event()     {}

// Effect is something that a Core asks its host to do.
type Effect interface{ effect() }

type (
	// Ask has a seed or a member asked. Each Ask gets one Answered, at most Config.AskFor later.
	Ask struct {
		Seed string
		Num  uint64
	}

	// Boot has the node begin a cluster.
	Boot struct{}

	// Enter has the node ask to be let in, by the answer of Seed. It is repeated until the
	// view has it.
	Enter struct{ Seed string }

	// Ready says that the node may serve. It comes once, and is the last but for Asks.
	Ready struct{}

	// Met says that a node is a member of another cluster, which is ready as this one is: an
	// operator has to end one of the two. One of the two nodes is a seed of the other, and
	// both are told.
	Met struct {
		At      string
		Cluster phalanx.NodeID
	}

	// Abandon says that the node's cluster, which is young, gives way to another one, or that
	// the node that has begun it runs anew, or that nobody has let the node in, or that another cluster goes on
	// in place of the one that it has asked: this node begins anew as well. It is the last.
	Abandon struct{}
)

func (Ask) effect()     {}
func (Boot) effect()    {}
func (Enter) effect()   {}
func (Ready) effect()   {}
func (Met) effect()     {}
func (Abandon) effect() {}
