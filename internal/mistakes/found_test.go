//go:build mistakes

package mistakes

import (
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"
)

var (
	only  = flag.String("mistakes.only", "", "make only the mistakes whose finder and description match")
	share = flag.String("mistakes.share", "1/1", "make only a share of these: 2/3 is every third, from the second on")
	seeds = flag.Int("mistakes.seeds", 0, "how many seeds to run at most; 0: as many as are enough")
)

// The finder that the table names finds every mistake: a simulation, or the tests of a package
// (go test -short). For a mistake that the table calls a survivor it runs fewer seeds.
func TestFound(t *testing.T) {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	var part, parts int
	if _, err := fmt.Sscanf(*share, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		t.Fatalf("-mistakes.share is %q; give 1/3, 2/3 or 3/3, for example", *share)
	}
	all := All()
	matching := 0
	var chosen []int // by number
	for i, m := range all {
		if !pattern.MatchString(string(m.By) + ": " + m.What) {
			continue
		}
		if matching++; matching%parts == part%parts {
			chosen = append(chosen, i+1)
		}
	}
	b := build(t, all, chosen)
	found, of := map[Finder]int{}, map[Finder]int{}
	var mu sync.Mutex
	jobs := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for number := range jobs {
				m := all[number-1]
				v := b.look(number, m)
				mu.Lock()
				of[m.By]++
				if v.found {
					found[m.By]++
				}
				report(t, m, v)
				mu.Unlock()
			}
		})
	}
	for _, number := range chosen {
		jobs <- number
	}
	close(jobs)
	workers.Wait()
	shares(t, found, of)
}

// verdict is the result of a finder's search for a mistake.
type verdict struct {
	found bool
	how   string        // the way in which it was found, or not
	took  time.Duration // of a processor
	err   error         // with the search
}

func report(t *testing.T, m Mistake, v verdict) {
	t.Helper()
	took := v.took.Round(10 * time.Millisecond)
	switch {
	case v.err != nil:
		t.Errorf("%s: %s: %v", m.By, m.What, v.err)
	case v.found && m.Survives != "":
		t.Errorf("%s: %s: the table says that it survives, but %s", m.By, m.What, v.how)
	case m.Survives != "":
		t.Logf("%s: %s: not found (%s, %v), since %s", m.By, m.What, v.how, took, m.Survives)
	case !v.found:
		t.Errorf("%s: %s: NOT FOUND (%s, %v)", m.By, m.What, v.how, took)
	default:
		t.Logf("%s: %s: %s (%v)", m.By, m.What, v.how, took)
	}
}

// shares logs how many mistakes were found.
func shares(t *testing.T, found, of map[Finder]int) {
	t.Helper()
	text, n, all := "", 0, 0
	for _, by := range sorted(of) {
		text += fmt.Sprintf("; %s %d of %d", by, found[by], of[by])
		n, all = n+found[by], all+of[by]
	}
	t.Logf("found %d of %d%s", n, all, text)
}
