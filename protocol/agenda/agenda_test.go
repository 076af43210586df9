package agenda

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// An agenda gives the same keys as a list that is sorted each time.
func TestAgenda(t *testing.T) {
	type entry struct {
		key int
		at  time.Duration
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var a Agenda[int]
		var list []entry
		drop := func(k int) { list = slices.DeleteFunc(list, func(e entry) bool { return e.key == k }) }
		for now := time.Duration(0); now < 300; now++ {
			k, at := r.IntN(20), now+time.Duration(r.IntN(30))
			switch r.IntN(4) {
			case 0:
				a.Cancel(k)
				drop(k)
			default:
				if !slices.Contains(list, entry{k, at}) { // else it keeps its turn
					drop(k)
					list = append(list, entry{k, at})
				}
				a.Set(k, at)
			}
			if has := slices.ContainsFunc(list, func(e entry) bool { return e.key == k }); a.Has(k) != has {
				t.Fatalf("seed %d, at %d: it has %d: %v; want %v", seed, now, k, a.Has(k), has)
			}
			slices.SortStableFunc(list, func(a, b entry) int { return int(a.at - b.at) })
			if at, ok := a.Due(); ok != (len(list) > 0) || ok && at != list[0].at || a.Len() != len(list) {
				t.Fatalf("seed %d, at %d: due at %d, %v, of %d; want %v", seed, now, at, ok, a.Len(), list)
			}
			for k, ok := a.Take(now); ok; k, ok = a.Take(now) {
				if len(list) == 0 || list[0].key != k || list[0].at > now {
					t.Fatalf("seed %d, at %d: took %d; want %v", seed, now, k, list)
				}
				list = list[1:]
			}
			if len(list) > 0 && list[0].at <= now {
				t.Fatalf("seed %d, at %d: %v is left", seed, now, list[0])
			}
		}
	}
}
