package digits

import "math"

// Adam is the optimizer of Kingma and Ba (2015). One goroutine owns it.
type Adam struct {
	rate         float64
	steps        int
	mean, square []float32 // running means of the gradient and of its square
}

// Rate is a good rate for a Model: with it, 60 rounds over jittered samples
// classify about 95 % of the test samples correctly, 30 rounds over 90 %.
const Rate = 0.004

// The settings that the paper proposes.
const (
	keepMean   = 0.9
	keepSquare = 0.999
	tiny       = 1e-8
)

// NewAdam returns an optimizer for n parameters. The rate is about how far a
// parameter moves in a step.
func NewAdam(n int, rate float64) *Adam {
	return &Adam{rate: rate, mean: make([]float32, n), square: make([]float32, n)}
}

// Step moves params against gradient, which is a sum over that many samples.
func (a *Adam) Step(params, gradient []float32, samples int) {
	a.steps++
	rate := float32(a.rate / (1 - math.Pow(keepMean, float64(a.steps)))) // corrects the start at zero
	bias := float32(1 / (1 - math.Pow(keepSquare, float64(a.steps))))
	scale := 1 / float32(samples)
	for i, sum := range gradient {
		g := sum * scale
		a.mean[i] += (1 - keepMean) * (g - a.mean[i])
		a.square[i] += (1 - keepSquare) * (g*g - a.square[i])
		params[i] -= rate * a.mean[i] / (float32(math.Sqrt(float64(a.square[i]*bias))) + tiny)
	}
}

// Copy returns an optimizer that goes on as a does.
func (a *Adam) Copy() *Adam {
	c := *a
	c.mean, c.square = append([]float32(nil), a.mean...), append([]float32(nil), a.square...)
	return &c
}

// State returns how many steps were made, and the running means of the gradient and of
// its square, which belong to a.
func (a *Adam) State() (steps int, mean, square []float32) { return a.steps, a.mean, a.square }

// ResumeAdam returns an optimizer with a State, which belongs to it from now on.
func ResumeAdam(rate float64, steps int, mean, square []float32) *Adam {
	return &Adam{rate: rate, steps: steps, mean: mean, square: square}
}
