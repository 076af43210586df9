package digits

import (
	"math"
	"math/rand/v2"
)

// reach is how far Jitter moves an image at most, in pixels each way.
const reach = 0.5

// Jitter returns a copy of samples, each moved by a random fraction of a pixel, the
// same for the same seed. A model that sees other copies in each round learns the
// digits rather than the pixels.
func Jitter(samples []Sample, seed uint64) []Sample {
	rng := rand.New(rand.NewPCG(seed, 0))
	moved := make([]Sample, len(samples))
	for i, s := range samples {
		moved[i] = s.move(reach*(2*rng.Float64()-1), reach*(2*rng.Float64()-1))
	}
	return moved
}

// move shifts the image, with bilinear interpolation; beyond its edges it is dark.
func (s Sample) move(dx, dy float64) Sample {
	left, top := math.Floor(dx), math.Floor(dy)
	right, below := float32(dx-left), float32(dy-top) // the weights of the pixels on those sides
	moved := Sample{Digit: s.Digit}
	for y := range side {
		for x := range side {
			fx, fy := x+int(left), y+int(top)
			upper := s.at(fx, fy)*(1-right) + s.at(fx+1, fy)*right
			lower := s.at(fx, fy+1)*(1-right) + s.at(fx+1, fy+1)*right
			moved.Pixels[y*side+x] = upper*(1-below) + lower*below
		}
	}
	return moved
}

func (s Sample) at(x, y int) float32 {
	if x < 0 || y < 0 || x >= side || y >= side {
		return 0
	}
	return s.Pixels[y*side+x]
}
