package main

import (
	"fmt"

	"github.com/phalanx-go/phalanx/internal/digits"
)

// state is where the training is: weights and the state of the optimizer.
type state struct {
	params []float32
	adam   *digits.Adam
}

func newState(hidden int) state {
	params := digits.Model{Hidden: hidden}.Init(1)
	return state{params, digits.NewAdam(len(params), digits.Rate)}
}

// steps returns how many steps the training has made.
func (s state) steps() int {
	n, _, _ := s.adam.State()
	return n
}

// array is the form in which a state goes between tasks.
func (s state) array() []float32 {
	steps, mean, square := s.adam.State()
	return append(append(append([]float32{float32(steps)}, s.params...), mean...), square...)
}

func parseState(all []float32) (state, error) {
	n := (len(all) - 1) / 3
	if n == 0 || len(all) != 1+3*n {
		return state{}, fmt.Errorf("an array of %d elements is no state of a training", len(all))
	}
	rest := all[1:]
	return state{rest[:n:n], digits.ResumeAdam(digits.Rate, int(all[0]), rest[n:2*n:2*n], rest[2*n:])}, nil
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
