package barrier_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

// The averages after each arrival, in the vectors of barrier specification 5.
func TestKneeVectors(t *testing.T) {
	var d barrier.Detector
	type row struct{ arr, arrvar, threshold float64 }
	want := map[int]row{2: {30, 25, 130}, 3: {81, 61.25, 326}, 4: {146.7, 100.6875, 549.45}, 5: {222.69, 138.840625, 778.0525},
		10: {676.082508, 267.785512, 1747.224557}, 11: {1973.257756, 1281.818507, 7100.531784}}
	for i, at := range []time.Duration{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 5000} {
		d.Arrive(at * ms)
		w, ok := want[i+1]
		if !ok {
			continue
		}
		threshold, open := d.Threshold()
		got := row{d.Arr / float64(ms), d.Arrvar / float64(ms), float64(threshold) / float64(ms)}
		if !open || !near(got.arr, w.arr) || !near(got.arrvar, w.arrvar) || !near(got.threshold, w.threshold) {
			t.Errorf("after %d: %+v, %v, want %+v", i+1, got, open, w)
		}
	}
}

// knees returns when knees are found, in milliseconds, and after how many arrivals.
func knees(arrivals []time.Duration) (found []string) {
	var d barrier.Detector
	for i, at := range arrivals {
		d.Arrive(at)
		threshold, open := d.Threshold()
		if open && (i+1 == len(arrivals) || arrivals[i+1] > threshold) {
			found = append(found, fmt.Sprintf("%.4f/%d", float64(threshold)/float64(ms), i+1))
			d.Found()
		}
	}
	return found
}

func TestKneesOfTheVectors(t *testing.T) {
	for _, c := range []struct {
		at   []time.Duration
		want []string
	}{
		{[]time.Duration{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 5000, 5100}, []string{"130.0000/2", "1747.2246/10"}},
		{[]time.Duration{0, 10, 20, 35, 50, 60, 75, 90, 300, 310, 320, 330, 340, 2000},
			[]string{"13.0000/2", "32.6000/3", "179.0765/8", "697.1838/13", "2826.7536/14"}},
	} {
		var at []time.Duration
		for _, d := range c.at {
			at = append(at, d*ms)
		}
		got := knees(at)
		if len(got) < len(c.want) || fmt.Sprint(got[:len(c.want)]) != fmt.Sprint(c.want) {
			t.Errorf("knees %v, want %v", got, c.want)
		}
	}
}

// With a minimum of 60 % the first knee that counts is the fourth; with a minimum
// time a knee that came before counts from then on, so that it never hangs.
func TestKneeIsGated(t *testing.T) {
	at := []time.Duration{0, 10, 20, 35, 50, 60, 75, 90, 300, 310, 320, 330, 340, 2000}
	for _, c := range []struct {
		knee barrier.Knee
		want float64
		n    int
	}{
		{barrier.Knee{Percent: 60}, 697.1838, 13},
		{barrier.Knee{Percent: 40}, 179.0765, 8},
		{barrier.Knee{Time: 1000 * ms}, 1000, 13},
		{barrier.Knee{Percent: 60, Time: 1500 * ms}, 1500, 13},
		{barrier.Knee{Percent: 70, Time: 1500 * ms}, 2826.7536, 14},
	} {
		d := newDrive(t, barrier.Config{Max: 20, Knee: c.knee})
		for i, a := range at {
			d.enter(i, a*ms)
		}
		d.until(time.Minute)
		got, n, why := d.fired()
		if !near(float64(got)/float64(ms)/1000, c.want/1000) && math.Abs(float64(got)/float64(ms)-c.want) > 0.001 || n != c.n || why != barrier.ByKnee {
			t.Errorf("%+v: fired at %v with %d: %s; want %v with %d", c.knee, got, n, why, c.want, c.n)
		}
	}
}

// Steady arrivals, a distance d apart: the threshold is 11 d after the last one.
func TestKneeOfSteadyArrivals(t *testing.T) {
	var d barrier.Detector
	for i := range 1000 {
		d.Arrive(time.Duration(i) * 7 * ms)
	}
	if threshold, _ := d.Threshold(); !near(float64(threshold-999*7*ms), float64(77*ms)) {
		t.Errorf("%v after the last", threshold-999*7*ms)
	}
}

// Hosts that enter at once on two nodes are not cut in half: all of a message count before a
// knee is looked for, and the other node's may be on its way.
func TestNoKneeInsideAMessage(t *testing.T) {
	c := newCluster(t, 4)
	cfg := barrier.Config{Max: 20, Knee: barrier.Knee{Percent: 10}}
	others := slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return id == c.managers()[0] })
	var ids []uint64
	for i, on := range others[:2] {
		for k := range 5 {
			ids = append(ids, c.enter(on, cfg, fmt.Sprint("h", i, k)))
		}
		c.settle()
		c.pass(ms)
	}
	c.pass(time.Second)
	for _, id := range ids {
		c.want(id, barrier.Fire)
	}
}

// An entry has come when it came to its node, also while a backup hangs.
func TestEntriesAreInTimeWhileABackupHangs(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Max: 5, Timeout: 500 * ms}
	backup, on := c.managers()[1], c.bystander()
	ids := []uint64{c.enter(on, cfg, "first")}
	c.settle()
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == backup && is[barrier.Replicate](m) }
	for _, h := range []string{"second", "third"} {
		c.pass(100 * ms)
		ids = append(ids, c.enter(on, cfg, h))
	}
	c.pass(800 * ms)
	late := c.enter(on, cfg, "late")
	c.pass(10 * ms)
	c.lose = nil
	c.pass(3 * time.Second)
	for _, id := range ids {
		c.want(id, barrier.Fire)
	}
	c.want(late, barrier.LateFire)
}
