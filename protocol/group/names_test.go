package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Each group that comes of others has a name of its own. Of 300,000 names with digests of 32
// bits, some ten were the same.
func TestChildrenHaveNamesOfTheirOwn(t *testing.T) {
	type of struct {
		parent string
		seq    uint64
	}
	seen := map[string]of{}
	for one := range uint64(1000) {
		parent := childName("train", 1, one+1)
		for seq := uint64(1); seq <= 300; seq++ {
			name := childName(parent, 1, seq)
			if old, ok := seen[name]; ok {
				t.Fatalf("agreement %d of %s and %d of %s both make %s", old.seq, old.parent, seq, parent, name)
			}
			seen[name] = of{parent, seq}
		}
	}
}

// A limit that a list of members exceeds is named, and what it has.
func TestErrorsNameTheLimit(t *testing.T) {
	many := make([]Member, MaxMembers+1)
	for i := range many {
		many[i] = Member{Node: phalanx.NodeID(fmt.Sprint("n", i, "#1"))}
	}
	long := make([]Member, 40_000)
	for i := range long {
		long[i] = Member{Node: many[i].Node, Label: strings.Repeat("x", 150)}
	}
	for limit, members := range map[string][]Member{
		fmt.Sprint(MaxMembers):   many,
		fmt.Sprint(maxBytes):     long,
		fmt.Sprint(MaxNameBytes): {{Node: "n#1", Label: strings.Repeat("x", MaxNameBytes+1)}},
	} {
		if _, err := NewRoster(members); err == nil || !strings.Contains(err.Error(), limit) {
			t.Errorf("the limit is %s: %v", limit, err)
		}
	}
	if text := ValidName(strings.Repeat("x", MaxNameBytes+1)); !strings.Contains(text, fmt.Sprint(MaxNameBytes)) {
		t.Errorf("the name %s", text)
	}
}
