package reduce

import (
	"math"
	"time"
)

// Time is the paper's estimate of how long a Reduce of n objects of size bytes
// takes in a tree of degree d (section 3.4.2), in seconds: nL + S/B for a
// chain, which is pipelined, and L·log_d n + d·S/B otherwise. Bandwidth is in
// bytes per second.
func Time(n, d int, size int64, latency time.Duration, bandwidth float64) float64 {
	l, s := latency.Seconds(), float64(size)/bandwidth
	switch {
	case d == 1:
		return float64(n)*l + s
	case d >= n:
		return l + float64(n)*s // one level: log_n n is 1, without rounding
	}
	return l*math.Log2(float64(n))/math.Log2(float64(d)) + float64(d)*s
}

// ChooseDegree returns the degree of 1, 2 and n with the least Time; of equals
// the smallest.
func ChooseDegree(n int, size int64, latency time.Duration, bandwidth float64) int {
	best, least := 1, Time(n, 1, size, latency, bandwidth)
	for _, d := range []int{2, n} {
		if d > n {
			continue
		}
		if t := Time(n, d, size, latency, bandwidth); t < least {
			best, least = d, t
		}
	}
	return best
}
