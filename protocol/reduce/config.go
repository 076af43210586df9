package reduce

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config is one request to reduce, with the coordinator's knowledge of the cluster.
// Durations that are zero take the default in brackets.
type Config struct {
	Target  phalanx.ObjectID
	Sources []phalanx.ObjectID // at most MaxSources; the caller must not change it afterwards
	Num     int                // how many of the Sources; 1 <= Num <= len(Sources)
	Op      phalanx.Op
	Request phalanx.Digest // of the request: equal for equal requests
	Node    phalanx.NodeID // where the coordinator runs
	Room    int64          // bytes that are free on Node: a target that does not fit is made elsewhere
	Attempt uint64         // 1, and one more with each restart of the coordinator
	Shared  bool           // others ask for the same at this time: most find that another has begun it

	Degree      int                     // at most MaxDegree; 0: ChooseDegree
	Latency     time.Duration           // one way, where no path was measured; unused if Degree is given
	Bandwidth   float64                 // bytes per second, likewise
	Paths       map[phalanx.NodeID]Path // measured; read only
	InlineLimit int64                   // smaller sources are combined by the coordinator; 0: none are
	Grain       int64                   // least size of a ring's shards [RingGrain]

	Deadline    time.Duration // on the clock of the events; 0: none
	RepeatEvery time.Duration // of unacknowledged messages [200 ms]
	AskFor      time.Duration // how long to ask a parent for the delivery of a dead child, and a node for its places [500 ms]
	HearFor     time.Duration // a place that was not heard of for so long is asked whether it runs, and so often [3 s]
	BarFor      time.Duration // a holder where a place failed gets no place for so long, doubling [1 s]
	BarMax      time.Duration // at most [10 s]
}

// InlineLimit is the usual limit, the directory's.
const InlineLimit = 64 << 10

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.RepeatEvery, 200 * time.Millisecond}, {&c.AskFor, 500 * time.Millisecond},
		{&c.HearFor, 3 * time.Second}, {&c.BarFor, time.Second}, {&c.BarMax, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Grain == 0 {
		c.Grain = RingGrain
	}
	return c
}

// Validate returns an ErrInvalid that says which rule the request breaks and
// names the object, or nil.
func (c Config) Validate() error {
	if err := c.validate(); err != nil {
		return err
	}
	return nil
}

func (c Config) validate() *phalanx.Error {
	bad := func(object phalanx.ObjectID, format string, args ...any) *phalanx.Error {
		return &phalanx.Error{Op: "reduce", Object: object, Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
	}
	if err := c.Target.Validate(); err != nil {
		return bad(culprit(err), "%w", cause(err))
	}
	switch {
	case c.Op == "":
		return bad(c.Target, "the request names no op")
	case len(c.Sources) == 0:
		return bad(c.Target, "the request names no source")
	case len(c.Sources) > MaxSources:
		return bad(c.Target, "the request has %d sources, at most %d are allowed", len(c.Sources), MaxSources)
	case c.Num < 1:
		return bad(c.Target, "the request asks for %d sources, at least 1 is needed", c.Num)
	case c.Num > len(c.Sources):
		return bad(c.Target, "the request asks for %d of %d sources", c.Num, len(c.Sources))
	case c.Attempt < 1:
		return bad(c.Target, "attempts start at 1")
	case c.Degree < 0 || c.Degree > MaxDegree:
		return bad(c.Target, "the degree is %d, at most %d is allowed", c.Degree, MaxDegree)
	case c.Degree == 0 && (c.Latency <= 0 || !(c.Bandwidth > 0)):
		return bad(c.Target, "the latency %v and the bandwidth %g must be positive", c.Latency, c.Bandwidth)
	}
	seen := make(map[phalanx.ObjectID]bool, len(c.Sources))
	for _, s := range c.Sources {
		if err := s.Validate(); err != nil {
			return bad(culprit(err), "%w", cause(err))
		}
		switch {
		case s == c.Target:
			return bad(s, "the target is among its sources")
		case seen[s]:
			return bad(s, "the source was given twice")
		}
		seen[s] = true
	}
	return nil
}
