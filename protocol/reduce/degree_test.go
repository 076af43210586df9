package reduce_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// The latency and the bandwidth of the paper's cluster, 9.68 Gib/s.
const (
	paperLatency   = 750 * time.Microsecond
	paperBandwidth = 9.68 * (1 << 30) / 8
)

// crossover returns the least size at which the degree is below d.
func crossover(n, d int) int64 {
	lo, hi := int64(0), int64(1)<<40
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if reduce.ChooseDegree(n, mid, paperLatency, paperBandwidth) >= d {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// TestDegreeCrossovers is section 3.4.2 with the figures of the paper's cluster.
func TestDegreeCrossovers(t *testing.T) {
	for _, c := range []struct {
		n         int
		star, two string // n→2 in KiB, 2→1 in MiB
	}{
		{4, "476", "1.86"}, {8, "317", "4.65"}, {12, "246", "7.82"}, {16, "204", "11.15"},
	} {
		star := fmt.Sprintf("%.0f", float64(crossover(c.n, c.n))/(1<<10))
		two := fmt.Sprintf("%.2f", float64(crossover(c.n, 2))/(1<<20))
		if star != c.star || two != c.two {
			t.Errorf("n=%d: n→2 at %s KB, 2→1 at %s MB, want %s and %s", c.n, star, two, c.star, c.two)
		}
	}
}

// TestDegreeFallsWithSize checks that the degree is least, and a tie goes to
// the smaller degree.
func TestDegreeFallsWithSize(t *testing.T) {
	for n := 1; n <= 64; n++ {
		last := n
		for size := int64(0); size < 1<<34; size = size*3/2 + 1000 {
			d := reduce.ChooseDegree(n, size, paperLatency, paperBandwidth)
			if d > last || (d != 1 && d != 2 && d != n) {
				t.Fatalf("n=%d size=%d: degree %d after %d", n, size, d, last)
			}
			last = d
			for _, e := range []int{1, 2, n} {
				td, te := reduce.Time(n, d, size, paperLatency, paperBandwidth), reduce.Time(n, e, size, paperLatency, paperBandwidth)
				if e <= n && (te < td || (te == td && e < d)) {
					t.Fatalf("n=%d size=%d: degree %d takes %g s, %d takes %g s", n, size, d, td, e, te)
				}
			}
		}
	}
	// One object moves nowhere: all degrees are equal.
	if d := reduce.ChooseDegree(1, 1<<20, paperLatency, paperBandwidth); d != 1 {
		t.Errorf("a single source has degree %d", d)
	}
}
