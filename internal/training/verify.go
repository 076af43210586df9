package training

import (
	"fmt"
	"math"
)

// unit is the largest relative error of one rounding to a float32.
const unit = 1.0 / (1 << 24)

// checkSum returns an error unless every element of sum is the sum of parts within the
// largest error of a float32 sum in any order: for n terms (n−1)·unit times the sum of
// their magnitudes, and a rounding of the result.
func checkSum(sum []float32, parts [][]float32) error {
	for _, p := range parts {
		if len(p) != len(sum) {
			return fmt.Errorf("the sum has %d elements, a gradient %d", len(sum), len(p))
		}
	}
	for i, got := range sum {
		exact, magnitude := 0.0, 0.0
		for _, p := range parts {
			exact += float64(p[i])
			magnitude += math.Abs(float64(p[i]))
		}
		// Not "> allowed", which is false for NaN.
		if allowed := float64(len(parts)) * unit * magnitude; !(math.Abs(float64(got)-exact) <= allowed) {
			return fmt.Errorf("element %d is %v; the %d gradients in it add up to %v (rounding allows for %g)", i, got, len(parts), exact, allowed)
		}
	}
	return nil
}
