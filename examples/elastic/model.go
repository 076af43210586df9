package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
)

// task is what all workers compute, whoever they are: the batch of a step does not
// depend on them.
type task struct {
	Hidden, Steps, Batch int
	GrowAt               int // the step before which the first of the workers waits for another one to come
	Seed                 uint64
}

func (t task) model() digits.Model { return digits.Model{Hidden: t.Hidden} }

// samples returns the batch of a step.
func (t task) samples(train []digits.Sample, step int) []digits.Sample {
	r := rand.New(rand.NewPCG(t.Seed, uint64(step)))
	batch := make([]digits.Sample, t.Batch)
	for i, k := range r.Perm(len(train))[:t.Batch] {
		batch[i] = train[k]
	}
	return batch
}

// state is where the training is after Step steps.
type state struct {
	step   int
	params []float32
	adam   *digits.Adam
}

func (t task) begin() state {
	params := t.model().Init(t.Seed)
	return state{params: params, adam: digits.NewAdam(len(params), digits.Rate)}
}

// next returns the state after one more step, and leaves s as it is: who has to go
// back does.
func (s state) next(sum []float32, samples int) state {
	n := state{step: s.step + 1, params: append([]float32(nil), s.params...), adam: s.adam.Copy()}
	n.adam.Step(n.params, sum, samples)
	return n
}

// marshal returns the state as an array.
func (s state) marshal() []float32 {
	steps, mean, square := s.adam.State()
	all := append([]float32{float32(s.step), float32(steps)}, s.params...)
	return append(append(all, mean...), square...)
}

func parseState(all []float32) (state, error) {
	n := (len(all) - 2) / 3
	if len(all) < 2 || len(all) != 2+3*n {
		return state{}, fmt.Errorf("an array of %d elements is no state", len(all))
	}
	all = append([]float32(nil), all...) // they belong to the view
	rest := all[2:]
	return state{step: int(all[0]), params: rest[:n:n], adam: digits.ResumeAdam(digits.Rate, int(all[1]), rest[n:2*n:2*n], rest[2*n:])}, nil
}

// digest is equal for equal parameters.
func (s state) digest() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(cluster.BytesOf(s.params))
	return h.Sum64()
}

// alone trains without any worker, and returns the accuracy.
func (t task) alone() (float64, error) {
	train, test, err := digits.Load()
	if err != nil {
		return 0, err
	}
	s, sum := t.begin(), make([]float32, t.model().NumParams())
	for s.step < t.Steps {
		t.model().Gradient(s.params, t.samples(train, s.step), sum)
		s.adam.Step(s.params, sum, t.Batch)
		s.step++
	}
	return t.model().Accuracy(s.params, test), nil
}
