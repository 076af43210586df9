package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// sizes are on both sides of what lives in the directory, and of pieces.
var sizes = []int64{0, 1, 1 << 10, 64<<10 - 1, 64 << 10, 1 << 20, 1<<20 + 1, 5_000_011, 20 << 20}

// largest is the size of the largest object in a short test.
const largest = 2 << 20

func TestEveryActorGetsEveryByte(t *testing.T) {
	for i, size := range sizes {
		if testing.Short() && size > largest {
			continue
		}
		for _, how := range []string{"put", "stream"} {
			t.Run(fmt.Sprint(how, " of ", size), func(t *testing.T) {
				id := phalanx.ObjectID(fresh(how))
				var all []*pendingAnswer
				for k, a := range agents { // most ask before it is there
					do := "get"
					if k%2 == 1 {
						do = "open"
					}
					all = append(all, tell(a, order{Do: do, Object: id, Size: size}))
					if k == len(agents)/2 {
						all = append(all, tell(agents[i%len(agents)], order{Do: how, Object: id, Size: size}))
					}
				}
				must(t, all...)
				must(t, tell(agents[0], order{Do: "get", Object: id, Size: size})) // from its own store now
				must(t, tell(agents[1], order{Do: "delete", Object: id}))
			})
		}
	}
}

func TestActorsHearWhatIsWrong(t *testing.T) {
	must(t, tell(agents[1], order{Do: "put", Object: "taken", Size: 100_000}))
	for _, c := range []struct {
		name  string
		order order
		says  string
	}{
		{"other bytes", order{Do: "put", Object: "taken", Size: 100_001}, phalanx.ErrExists.Error()},
		{"no id", order{Do: "get"}, "empty"},
		{"no source", order{Do: "reduce", Object: "r", Op: phalanx.Sum}, phalanx.ErrInvalid.Error()},
		{"a source twice", order{Do: "reduce", Object: "r", Op: phalanx.Sum, Sources: []phalanx.ObjectID{"x", "x"}}, `"x"`},
		{"more than there are", order{Do: "reduce", Object: "r", Op: phalanx.Sum, Num: 2, Sources: []phalanx.ObjectID{"x"}}, phalanx.ErrInvalid.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tell(agents[2], c.order).wait()
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	must(t, tell(agents[1], order{Do: "put", Object: "taken", Size: 100_000}), tell(agents[3], order{Do: "get", Object: "taken", Size: 100_000}))
}
