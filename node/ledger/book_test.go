package ledger

import (
	"fmt"
	"testing"
)

// The address of a replica that is heard again and again stays known, however many others come and go.
func TestBookKeepsWhoIsHeard(t *testing.T) {
	var b book
	for i := range 2 * maxBook {
		b.put(uint64(1000+i), fmt.Sprint("x:", i))
		if at := b.of(1); i > 0 && at != "a:1" {
			t.Fatalf("after %d others, replica 1 is at %q", i, at)
		}
		b.put(1, "a:1")
	}
	if len(b.places) != maxBook {
		t.Errorf("%d places are known", len(b.places))
	}
}
