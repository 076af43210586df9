package digits_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/internal/digits"
)

// naiveLoss is a second, slow implementation: the loss in float64, unit by unit.
func naiveLoss(hidden int, params []float64, samples []digits.Sample) (loss float64) {
	in, params := params[:hidden*digits.Pixels], params[hidden*digits.Pixels:]
	inBias, params := params[:hidden], params[hidden:]
	out, outBias := params[:digits.Classes*hidden], params[digits.Classes*hidden:]
	for _, s := range samples {
		var score [digits.Classes]float64
		copy(score[:], outBias)
		for j := range hidden {
			z := inBias[j]
			for k, v := range s.Pixels {
				z += in[j*digits.Pixels+k] * float64(v)
			}
			for c := range score {
				score[c] += out[c*hidden+j] * max(0, z)
			}
		}
		total := 0.0
		for _, v := range score {
			total += math.Exp(v)
		}
		loss += math.Log(total) - score[s.Digit]
	}
	return loss
}

func TestGradientIsTheSlopeOfTheLoss(t *testing.T) {
	train, _ := load(t)
	m, samples := digits.Model{Hidden: 7}, train[:12]
	rng := rand.New(rand.NewPCG(1, 2))
	params, exact := make([]float32, m.NumParams()), make([]float64, m.NumParams())
	for i := range params {
		params[i] = float32(rng.NormFloat64() / 4)
		exact[i] = float64(params[i])
	}
	gradient := make([]float32, m.NumParams())
	loss := m.Gradient(params, samples, gradient)
	if want := naiveLoss(m.Hidden, exact, samples); math.Abs(loss-want) > 1e-4 {
		t.Errorf("loss %v, want %v", loss, want)
	}
	const step = 1e-6
	for i, got := range gradient {
		at := exact[i]
		exact[i] = at + step
		above := naiveLoss(m.Hidden, exact, samples)
		exact[i] = at - step
		below := naiveLoss(m.Hidden, exact, samples)
		exact[i] = at
		if want := (above - below) / (2 * step); math.Abs(float64(got)-want) > 1e-4 {
			t.Errorf("slope in parameter %d: %v, want %v", i, got, want)
		}
	}
}

// A reduce by sum relies on this.
func TestGradientsAddUp(t *testing.T) {
	train, _ := load(t)
	m := digits.Model{Hidden: 20}
	params := m.Init(3)
	for i := range params {
		params[i] += 0.01
	}
	whole, part, total := make([]float32, m.NumParams()), make([]float32, m.NumParams()), make([]float32, m.NumParams())
	loss := m.Gradient(params, train, whole)
	for _, samples := range digits.Split(train, 5) {
		loss -= m.Gradient(params, samples, part)
		for i, v := range part {
			total[i] += v
		}
	}
	if math.Abs(loss) > 1e-3 {
		t.Errorf("the losses of the parts differ by %v from the whole", loss)
	}
	for i := range whole {
		if math.Abs(float64(whole[i]-total[i])) > 1e-2 {
			t.Errorf("parameter %d: %v, the parts add up to %v", i, whole[i], total[i])
		}
	}
	if m.Gradient(params, nil, part); slices.Max(part) != 0 || slices.Min(part) != 0 {
		t.Error("the gradient over no samples is not zero")
	}
}

func TestModel(t *testing.T) {
	m := digits.Model{Hidden: digits.Wide}
	if size := 4 * m.NumParams(); size <= 1<<20 {
		t.Errorf("a gradient has %d bytes, want more than 1 MiB", size)
	}
	if !slices.Equal(m.Init(1), m.Init(1)) || slices.Equal(m.Init(1), m.Init(2)) {
		t.Error("Init does not depend on its seed alone")
	}
	_, test := load(t)
	zeros := 0
	for _, s := range test {
		if s.Digit == 0 {
			zeros++
		}
	}
	untrained := make([]float32, m.NumParams()) // says 0 to everything
	if got, want := m.Accuracy(untrained, test), float64(zeros)/float64(len(test)); got != want {
		t.Errorf("accuracy without training %v, want %v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a gradient of the wrong length was accepted")
		}
	}()
	m.Gradient(untrained, test, untrained[1:])
}

// Each round sums the gradients of c.parts of the 8 parts.
func TestTraining(t *testing.T) {
	train, test := load(t)
	parts := digits.Split(train, 8)
	m := digits.Model{Hidden: digits.Wide}
	rounds := 30
	if testing.Short() { // a narrow model learns the same, later
		m.Hidden, rounds = m.Hidden/8, 45
	}
	cases := []struct {
		name  string
		parts int
	}{{"6 of 8", 6}, {"all parts", 8}}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			params, optimizer := m.Init(1), digits.NewAdam(m.NumParams(), digits.Rate)
			gradient, sum := make([]float32, m.NumParams()), make([]float32, m.NumParams())
			var losses []float64
			for range rounds {
				clear(sum)
				samples, loss := 0, 0.0
				for _, p := range rng.Perm(len(parts))[:c.parts] {
					loss += m.Gradient(params, digits.Jitter(parts[p], rng.Uint64()), gradient)
					samples += len(parts[p])
					for i, v := range gradient {
						sum[i] += v
					}
				}
				optimizer.Step(params, sum, samples)
				losses = append(losses, loss/float64(samples))
			}
			if first := losses[0]; math.Abs(first-math.Log(digits.Classes)) > 1e-3 {
				t.Errorf("the first loss is %v, want log 10: no class is favoured", first)
			}
			if got := m.Accuracy(params, test); got < 0.9 {
				t.Errorf("accuracy %.3f after %d rounds, want 0.9; losses %.3f", got, rounds, losses)
			} else {
				t.Logf("accuracy %.3f after %d rounds", got, rounds)
			}
		})
	}
}

func BenchmarkGradient(b *testing.B) {
	train, _ := load(b)
	part := digits.Split(train, 8)[0]
	m := digits.Model{Hidden: digits.Wide}
	params, gradient := m.Init(1), make([]float32, m.NumParams())
	b.ReportAllocs()
	for b.Loop() {
		m.Gradient(params, part, gradient)
	}
}
