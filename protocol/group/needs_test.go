package group

import "testing"

func TestNeeds(t *testing.T) {
	barrier := func(units int) Needs { return Needs{Parts: units} }
	for _, c := range []struct {
		what                       string
		needs                      Needs
		size, failed, acknowledged int
		lost                       bool
	}{
		{"a Get", Needs{}, 4, 3, 0, false},
		{"a strict barrier, all live", barrier(4), 4, 0, 0, false},
		{"a strict barrier", barrier(4), 4, 1, 0, true},
		{"a strict barrier, acknowledged", barrier(4), 4, 1, 1, false},
		{"a strict barrier of those left, and another one fails", barrier(3), 4, 2, 1, true},
		{"a barrier of two of four", barrier(2), 4, 1, 0, false},
		{"a barrier of two of four, two left", barrier(2), 4, 2, 0, false},
		{"a barrier of two of four, one left", barrier(2), 4, 3, 0, true},
		{"a barrier of more units than members", barrier(9), 3, 1, 0, true},
		{"all of two sources", NeedsSources(0, 2), 4, 1, 0, true},
		{"all of two sources, counted", NeedsSources(2, 2), 4, 1, 0, true},
		{"all sources, acknowledged", NeedsSources(0, 4), 4, 1, 1, false},
		{"three of four sources", NeedsSources(3, 4), 4, 1, 0, false},
		{"three of four sources, two left", NeedsSources(3, 4), 4, 2, 0, true},
		{"three of four sources, two left and one acknowledged: it may have brought one", NeedsSources(3, 4), 4, 2, 1, false},
		{"three of the four sources of those left, and another one fails", NeedsSources(3, 4), 8, 5, 4, false},
		{"three of the four sources of those left, and two others fail", NeedsSources(3, 4), 8, 6, 4, true},
		{"60 of 100 sources", NeedsSources(60, 100), 4, 1, 0, false},
		{"60 of 100 sources, two left", NeedsSources(60, 100), 4, 2, 0, true},
		{"one of two sources: the last member may bring it", NeedsSources(1, 2), 4, 3, 0, false},
		{"one of two sources, nobody left", NeedsSources(1, 2), 4, 4, 0, true},
		{"none of no sources", NeedsSources(0, 0), 4, 1, 0, false},
		{"the largest", NeedsSources(131071, 131072), MaxMembers, 1, 0, true},
	} {
		if got := c.needs.Lost(c.size, c.failed, c.acknowledged); got != c.lost {
			t.Errorf("%s: %+v of %d with %d failed, %d acknowledged: %v", c.what, c.needs, c.size, c.failed, c.acknowledged, got)
		}
	}
}
