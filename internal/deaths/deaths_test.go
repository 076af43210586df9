package deaths

import (
	"path/filepath"
	"slices"
	"testing"
)

// Of six attempts the second one dies before its effect, the fourth one after it, and so on; with 0 none does.
func TestCounter(t *testing.T) {
	for every, want := range map[int][]When{
		2: {Never, BeforeEffect, Never, AfterEffect, Never, BeforeEffect},
		0: {Never, Never, Never, Never, Never, Never},
	} {
		c := Counter(filepath.Join(t.TempDir(), "attempts"))
		var got []When
		for range want {
			w, err := c.Next(every)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w)
		}
		if n, err := c.Count(); !slices.Equal(got, want) || n != len(want) || err != nil {
			t.Errorf("each %d: %v, %d attempts, %v", every, got, n, err)
		}
	}
}
