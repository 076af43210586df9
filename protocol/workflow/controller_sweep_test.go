package workflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// sweeps counts the Sweeps that are wanted within a time.
func sweeps(d *desk, within time.Duration, failed bool) (n int) {
	for end := d.now + within; d.now < end; {
		d.after(time.Second)
		for ; d.sweeps > 0; d.sweeps-- {
			n++
			d.do(Swept{Failed: failed})
		}
	}
	return n
}

// The host looks for objects that nobody may know of once after a takeover, once after a node has left, again after a look has failed,
// and each hour.
func TestSweeps(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2", "n3")
	for _, n := range []phalanx.NodeID{"n1", "n2", "n3"} {
		d.tells(n, Tell{})
	}
	d.durable()
	if n := sweeps(d, sweepPause-time.Second, false); n != 0 {
		t.Errorf("%d looks before the store has heard of all", n)
	}
	if n := sweeps(d, time.Minute, false); n != 1 {
		t.Errorf("%d looks after a takeover", n)
	}
	d.see("n1", "n2")
	d.after(2 * time.Second)
	d.see("n1") // a second one, while the look after the first is due: that may come too early for it
	d.durable()
	if n := sweeps(d, time.Minute, false); n != 2 {
		t.Errorf("%d looks after nodes have left", n)
	}
	if n := sweeps(d, 3*censusPause+time.Minute, false); n != 3 {
		t.Errorf("%d looks in three hours", n)
	}
	d.see("n1", "n4")
	d.see("n1")
	d.durable()
	if n := sweeps(d, 4*sweepPause, true); n < 3 || n > 4 {
		t.Errorf("%d looks in 20 s, and each has failed", n)
	}
}

// Looks that take long are rare, however many nodes leave.
func TestSweepsTakeAShareOfTheTime(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{})
	n, busy := 0, 0
	for i := range 600 {
		d.see("n1", phalanx.NodeID(fmt.Sprint("m", i)))
		d.durable()
		d.after(time.Second)
		if d.sweeps == 0 {
			continue
		}
		if busy++; busy == 3 { // it has taken 2 s
			n, busy, d.sweeps = n+1, 0, 0
			d.do(Swept{})
		}
	}
	if n < 10 || n > 16 {
		t.Errorf("%d looks in 10 minutes, and each takes 2 s", n)
	}
}
