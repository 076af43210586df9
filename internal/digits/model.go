package digits

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/viterin/vek/vek32"
)

// Wide is a hidden layer that makes parameters and gradients larger than 1 MiB.
const Wide = 3600

// Model is the shape of a classifier with one hidden layer of rectified units
// and a softmax. Its parameters are one array:
//
//	into the hidden units     Hidden × Pixels weights, then Hidden biases
//	out of the hidden units   Classes × Hidden weights, then Classes biases
type Model struct{ Hidden int }

// NumParams returns how many parameters m has.
func (m Model) NumParams() int { return m.Hidden*(Pixels+1) + Classes*(m.Hidden+1) }

// layers are views of one array of parameters or of a gradient.
type layers struct{ in, inBias, out, outBias []float32 }

func (m Model) layers(params []float32) layers {
	if len(params) != m.NumParams() {
		panic(fmt.Sprintf("digits: %d parameters for a model that has %d", len(params), m.NumParams()))
	}
	take := func(n int) (head []float32) {
		head, params = params[:n:n], params[n:]
		return head
	}
	return layers{take(m.Hidden * Pixels), take(m.Hidden), take(Classes * m.Hidden), take(Classes)}
}

// Init returns random parameters, the same for the same seed. The weights out of the
// hidden units start at zero, so that the first outputs favour no class; the weights
// into them start at twice the usual scale, a value found by experiment.
func (m Model) Init(seed uint64) []float32 {
	params := make([]float32, m.NumParams())
	rng, deviation := rand.New(rand.NewPCG(seed, 0)), 2*math.Sqrt(2.0/Pixels)
	in := m.layers(params).in
	for i := range in {
		in[i] = float32(rng.NormFloat64() * deviation)
	}
	return params
}

// batch is how many samples the model computes at once; more do not stay in the cache.
const batch = 256

// Gradient writes to gradient the gradient of the loss (the cross-entropy,
// summed over samples) and returns the loss. Sums, not means: the gradients of
// two sets of samples add up to that of their union.
func (m Model) Gradient(params []float32, samples []Sample, gradient []float32) (loss float64) {
	clear(gradient)
	w, g := m.layers(params), m.layers(gradient)
	for ; len(samples) > 0; samples = samples[min(batch, len(samples)):] {
		p := m.forward(w, samples[:min(batch, len(samples))])
		loss += p.loss()
		m.backward(w, g, p)
	}
	return loss
}

// Accuracy returns the fraction of samples that m classifies correctly.
func (m Model) Accuracy(params []float32, samples []Sample) float64 {
	w, correct := m.layers(params), 0
	for rest := samples; len(rest) > 0; rest = rest[min(batch, len(rest)):] {
		p := m.forward(w, rest[:min(batch, len(rest))])
		for i, s := range p.samples {
			if p.best(i) == s.Digit {
				correct++
			}
		}
	}
	return float64(correct) / float64(max(1, len(samples)))
}

// pass has the model's results for some samples.
type pass struct {
	samples []Sample
	hidden  []float32          // outputs of the hidden units: Hidden × samples
	chance  [Classes][]float32 // of each class, for each sample
}

// forward runs the model. All large computations are dot products of two contiguous
// rows, for which vector instructions are good.
func (m Model) forward(w layers, samples []Sample) *pass {
	n := len(samples)
	p := &pass{samples: samples, hidden: make([]float32, m.Hidden*n)}
	bySample := make([]float32, n*m.Hidden) // hidden, transposed
	for j := range m.Hidden {
		weights, bias, out := w.in[j*Pixels:][:Pixels], w.inBias[j], p.hidden[j*n:][:n]
		for i := range samples {
			v := max(0, vek32.Dot(weights, samples[i].Pixels[:])+bias)
			out[i], bySample[i*m.Hidden+j] = v, v
		}
	}
	for c := range p.chance {
		p.chance[c] = make([]float32, n)
		for i := range n {
			p.chance[c][i] = vek32.Dot(w.out[c*m.Hidden:][:m.Hidden], bySample[i*m.Hidden:][:m.Hidden]) + w.outBias[c]
		}
	}
	for i := range n {
		p.softmax(i)
	}
	return p
}

// softmax turns the outputs for sample i into chances.
func (p *pass) softmax(i int) {
	top, sum := p.chance[p.best(i)][i], float64(0)
	for c := range p.chance {
		e := math.Exp(float64(p.chance[c][i] - top))
		p.chance[c][i] = float32(e)
		sum += e
	}
	for c := range p.chance {
		p.chance[c][i] /= float32(sum)
	}
}

// best returns the class with the largest output for sample i.
func (p *pass) best(i int) (class int) {
	for c := range p.chance {
		if p.chance[c][i] > p.chance[class][i] {
			class = c
		}
	}
	return class
}

// loss returns the summed cross-entropy.
func (p *pass) loss() (sum float64) {
	for i, s := range p.samples {
		sum -= math.Log(max(float64(p.chance[s.Digit][i]), math.SmallestNonzeroFloat32))
	}
	return sum
}

// backward adds the gradient of p's loss to g. It uses up p's chances.
func (m Model) backward(w, g layers, p *pass) {
	n := len(p.samples)
	byPixel := make([]float32, Pixels*n) // the samples, transposed
	for i, s := range p.samples {
		for k, v := range s.Pixels {
			byPixel[k*n+i] = v
		}
	}
	slope := &p.chance // of the loss in the outputs: chance − 1 for the right class, else chance
	for i, s := range p.samples {
		slope[s.Digit][i]--
	}
	for c := range Classes {
		g.outBias[c] += vek32.Sum(slope[c])
	}
	back := make([]float32, n) // slope of the loss in a hidden unit, for each sample
	for j := range m.Hidden {
		hidden := p.hidden[j*n:][:n]
		clear(back)
		for c := range Classes {
			g.out[c*m.Hidden+j] += vek32.Dot(slope[c], hidden)
			weight := w.out[c*m.Hidden+j]
			for i, s := range slope[c] {
				back[i] += weight * s
			}
		}
		for i, v := range hidden {
			if v == 0 { // the unit was cut off
				back[i] = 0
			}
		}
		g.inBias[j] += vek32.Sum(back)
		for k := range Pixels {
			g.in[j*Pixels+k] += vek32.Dot(back, byPixel[k*n:][:n])
		}
	}
}
