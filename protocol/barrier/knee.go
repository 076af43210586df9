package barrier

import (
	"math"
	"time"
)

// Weights of the past in the averages (section 4.1 of the paper).
const (
	arrWeight    = 0.70
	arrvarWeight = 0.75
)

// Detector finds knees of an arrival process: it follows the arrival times and
// their deviation by moving averages, as TCP does round trips, and takes for a knee
// that the next arrival is later than they let expect.
type Detector struct {
	Arrivals int
	Arr      float64 // average of the arrivals, in nanoseconds since the first
	Arrvar   float64 // average of their deviation from it
	Open     bool    // no knee was found since the last arrival
}

// Arrive notes that a unit came, so long after the first one. The first one
// says nothing; from the second on knees are found.
func (d *Detector) Arrive(since time.Duration) {
	if d.Arrivals++; d.Arrivals == 1 {
		return
	}
	sample := float64(since)
	deviation := math.Abs(sample - d.Arr)
	d.Arr = arrWeight*d.Arr + (1-arrWeight)*sample
	d.Arrvar = arrvarWeight*d.Arrvar + (1-arrvarWeight)*deviation
	d.Open = true
}

// Threshold is how long after the first arrival the next one is expected at the
// latest; ok is false where no knee can be found now: no participant is late after others that
// came at the same time.
func (d *Detector) Threshold() (t time.Duration, ok bool) {
	t = time.Duration(math.Ceil(d.Arr + 4*d.Arrvar))
	return t, d.Open && t > 0
}

// Found notes that the knee has been told: there is no other before the next arrival.
func (d *Detector) Found() { d.Open = false }
