package main

import (
	"fmt"
	"hash/fnv"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// trainer is the state of an actor that trains: weights and the state of the optimizer.
type trainer struct {
	params []float32
	adam   *digits.Adam
}

func newTrainer(hidden int) *trainer {
	params := digits.Model{Hidden: hidden}.Init(1)
	return &trainer{params, digits.NewAdam(len(params), digits.Rate)}
}

// steps returns how many steps the training has made.
func (t *trainer) steps() int {
	n, _, _ := t.adam.State()
	return n
}

// array is the form in which a trainer goes to another node, or to disk.
func (t *trainer) array() []float32 {
	steps, mean, square := t.adam.State()
	return append(append(append([]float32{float32(steps)}, t.params...), mean...), square...)
}

func parseTrainer(all []float32) (*trainer, error) {
	n := (len(all) - 1) / 3
	if n == 0 || len(all) != 1+3*n {
		return nil, fmt.Errorf("an array of %d elements is no trainer", len(all))
	}
	rest := all[1:]
	return &trainer{rest[:n:n], digits.ResumeAdam(digits.Rate, int(all[0]), rest[n:2*n:2*n], rest[2*n:])}, nil
}

func (t *trainer) save() ([]byte, error) { return cluster.BytesOf(t.array()), nil }

func loadTrainer(b []byte) (*trainer, error) {
	all := make([]float32, len(b)/4)
	copy(cluster.BytesOf(all), b)
	return parseTrainer(all)
}

// made is the model that a run ends with.
type made struct {
	Digest   uint64
	Steps    int
	Accuracy float64
	Trainers int // that have it
}

func (t *trainer) evaluate(hidden int) (made, error) {
	_, test, err := digits.Load()
	if err != nil {
		return made{}, err
	}
	h := fnv.New64a()
	_, _ = h.Write(cluster.BytesOf(t.params)) // a hash takes all
	return made{Digest: h.Sum64(), Steps: t.steps(), Accuracy: digits.Model{Hidden: hidden}.Accuracy(t.params, test)}, nil
}

// row is the length of a sample as it goes between tasks: its pixels, then the digit.
const row = digits.Pixels + 1

func samplesArray(samples []digits.Sample) []float32 {
	all := make([]float32, 0, row*len(samples))
	for _, s := range samples {
		all = append(append(all, s.Pixels[:]...), float32(s.Digit))
	}
	return all
}

func parseSamples(all []float32) ([]digits.Sample, error) {
	if len(all)%row != 0 {
		return nil, fmt.Errorf("an array of %d elements has no whole samples of %d", len(all), row)
	}
	samples := make([]digits.Sample, len(all)/row)
	for i := range samples {
		r := all[row*i : row*(i+1)]
		samples[i].Digit = int(r[digits.Pixels])
		copy(samples[i].Pixels[:], r)
	}
	return samples, nil
}

// samplesOf reads an object with samples.
func samplesOf(v *storenode.View, err error) ([]digits.Sample, error) {
	if err != nil {
		return nil, err
	}
	a, err := cluster.ArrayOf[float32](v)
	if err != nil {
		return nil, err
	}
	return parseSamples(a.Values())
}
