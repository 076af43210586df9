package copies

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A receiver gets a copy of its generation, or hears of a newer one. It waits for one that is not
// here, and a little for another receiver to end.
func TestTurn(t *testing.T) {
	second := phalanx.Generation{Epoch: 1, Seq: 2}
	const began, ms = time.Minute, time.Millisecond
	type look struct {
		at   time.Duration
		seq  uint64 // of the copy; 0: there is none
		used int    // its receivers
		want Turn
	}
	for name, c := range map[string]struct {
		beside bool
		looks  []look
	}{
		"a copy":                                  {false, []look{{0, 2, 0, Streams}}},
		"a newer copy":                            {false, []look{{0, 3, 0, Newer}}},
		"a newer copy that others read":           {false, []look{{0, 3, 1, Newer}}},
		"an older copy":                           {false, []look{{0, 1, 0, Awaits}, {ShowPatience, 1, 0, Awaits}, {ShowPatience + ms, 1, 0, Vain}}},
		"a copy that comes":                       {false, []look{{0, 0, 0, Awaits}, {500 * ms, 2, 0, Streams}}},
		"a copy that others read":                 {false, []look{{0, 2, 1, Queues}, {99 * ms, 2, 1, Queues}, {100 * ms, 2, 1, Full}}},
		"one of the others ends":                  {false, []look{{0, 2, 1, Queues}, {99 * ms, 2, 0, Streams}}},
		"one of the others ends late":             {false, []look{{0, 2, 1, Queues}, {150 * ms, 2, 0, Streams}}},
		"beside a slow one":                       {true, []look{{0, 2, 1, Streams}}},
		"beside two":                              {true, []look{{0, 2, 2, Queues}, {100 * ms, 2, 2, Full}}},
		"the copy goes while the receiver queues": {false, []look{{0, 2, 1, Queues}, {90 * ms, 0, 0, Awaits}, {120 * ms, 2, 1, Queues}, {219 * ms, 2, 1, Queues}, {220 * ms, 2, 1, Full}}},
	} {
		a := NewAsked(began, second, c.beside)
		for _, l := range c.looks {
			table := NewTable()
			var copied *Copy
			if l.seq > 0 {
				copied = &part("x", l.seq).Copy
				table.Show(copied)
			}
			for range l.used {
				table.Serve(copied, l.used)
			}
			if got := table.Turn(&a, copied, began+l.at, false, 1); got != l.want {
				t.Errorf("%s: after %v it is %d, not %d", name, l.at, got, l.want)
			} else if streams := l.used + 1; got == Streams && copied.Streams() != streams {
				t.Errorf("%s: it has %d receivers, not %d", name, copied.Streams(), streams)
			}
		}
	}
}
