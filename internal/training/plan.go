package training

import (
	"encoding/json"

	"github.com/phalanx-go/phalanx/internal/digits"
)

// plan has the settings that all workers of a training need. It is an object in the store.
type plan struct {
	Parts    int    `json:"parts"`
	Hidden   int    `json:"hidden"`
	Seed     uint64 `json:"seed"`
	Patience int64  `json:"patience_ns"` // of a worker that waits for the next weights
	Trainer  string `json:"trainer"`     // where the trainer's node takes actors' messages
}

func (p plan) marshal() []byte {
	b, _ := json.Marshal(p) // numbers and a string always can be
	return b
}

func parsePlan(b []byte) (p plan, err error) {
	err = json.Unmarshal(b, &p)
	return p, err
}

// samples returns the samples of the worker of a part in a round.
func (p plan) samples(own []digits.Sample, round, part int) []digits.Sample {
	return digits.Jitter(own, p.Seed<<32+uint64(round)<<12+uint64(part))
}

// A gradient is an array of the classifier's slopes and, behind them, the loss,
// which adds up as they do.
func gradientLen(m digits.Model) int { return m.NumParams() + 1 }

// gradientOf computes the gradient that a worker puts.
func gradientOf(m digits.Model, weights []float32, samples []digits.Sample) []float32 {
	gradient := make([]float32, gradientLen(m))
	last := len(gradient) - 1
	gradient[last] = float32(m.Gradient(weights, samples, gradient[:last]))
	return gradient
}
