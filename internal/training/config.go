package training

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
)

// Config has the settings of a training. Run fills in zero fields.
type Config struct {
	Name     string           // begins the ids of all objects; default a new one
	Workers  []phalanx.NodeID // each gets a worker, and must know the kind; default all members
	Num      int              // gradients that a round waits for; default all
	Rounds   int              // default 60
	Hidden   int              // units of the classifier; default digits.Wide: gradients of more than a MiB
	Seed     uint64           // of the weights and of the jitter of samples
	Deadline time.Duration    // of each wait; default 30 s
	OnRound  func(Round)      // hears of each round, in order; may be nil

	// OnReduce hears of the reduce of each round, from 1, as it begins; may be nil.
	OnReduce func(round int, target phalanx.ObjectID)
}

// Round is the result of one round.
type Round struct {
	Number   int     // from 1
	In, Out  []int   // workers whose gradients are in the sum, in order of arrival, and the others
	Samples  int     // in the sum
	Loss     float64 // mean cross-entropy over these, before the step
	Accuracy float64 // on the samples for testing, after the step
	Took     time.Duration
}

// Result is the result of all rounds.
type Result struct {
	Rounds   int // completed
	Num      int
	Loss     float64 // in the last round
	Accuracy float64
	Verified int // sums that were equal to a recomputation
	Gradient int64
}

func (c Config) withDefaults(n *cluster.Node) (Config, error) {
	if c.Name == "" {
		c.Name = "training/" + strings.ToLower(rand.Text()[:8])
	}
	if len(c.Workers) == 0 {
		for _, m := range n.View().Members {
			c.Workers = append(c.Workers, m.ID)
		}
	}
	if c.Num == 0 {
		c.Num = len(c.Workers)
	}
	if c.Rounds == 0 {
		c.Rounds = 60
	}
	if c.Hidden == 0 {
		c.Hidden = digits.Wide
	}
	if c.Deadline == 0 {
		c.Deadline = 30 * time.Second
	}
	if c.OnRound == nil {
		c.OnRound = func(Round) {}
	}
	if c.OnReduce == nil {
		c.OnReduce = func(int, phalanx.ObjectID) {}
	}
	return c, c.validate()
}

func (c Config) validate() error {
	var err error
	switch {
	case c.Num < 1 || c.Num > len(c.Workers):
		err = fmt.Errorf("a round cannot wait for %d of %d workers (Num)", c.Num, len(c.Workers))
	case len(c.Workers) > digits.Train:
		err = fmt.Errorf("%d workers are more than the %d samples", len(c.Workers), digits.Train)
	case c.Rounds < 0 || c.Hidden < 0 || c.Deadline < 0:
		err = errors.New("negative Rounds, Hidden or Deadline")
	default:
		return nil
	}
	return &phalanx.Error{Op: "train", Kind: phalanx.ErrInvalid, Err: err}
}
