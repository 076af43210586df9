package workflow

import (
	"slices"
	"strings"
)

// stray has a member drop what it has of a run that is neither active nor waits, but for what its results are.
func (c *Controller) stray(m *member, u UID) {
	if asked, is := c.strays[u]; is {
		c.strays[u] = append(asked, m)
		return
	}
	c.strays[u] = []*member{m}
	c.unlessRow(u, waitingKey(u), func() {
		c.unlessRow(u, activeKey(u), func() { c.strayed(u) }) // one that this version cannot read
	})
}

// unlessRow goes on with a stray run that has no row of a key.
func (c *Controller) unlessRow(u UID, key string, then func()) {
	c.read(key, "", 1, func(rows []Row) {
		if len(rows) > 0 || c.runs[u] != nil {
			delete(c.strays, u)
			return
		}
		then()
	})
}

// strayed has members drop what they have of a run that is over.
func (c *Controller) strayed(u UID) {
	c.read(runKey(u, "result/"), runKey(u, "result0"), 0, func(rows []Row) {
		all := c.strays[u]
		delete(c.strays, u)
		if c.runs[u] != nil {
			return
		}
		var outputs []Located
		for _, r := range rows {
			outputs = append(outputs, r.Value.(Result).Outputs...)
		}
		slices.SortFunc(all, func(a, b *member) int { return strings.Compare(string(a.node), string(b.node)) })
		for _, m := range slices.Compact(all) {
			c.free(m, Released{Run: u, Results: len(rows) == 0, Spares: spares(outputs)}) // without a result it was forgotten
		}
	})
}

// keeps has a member drop what it has of runs that are over.
func (c *Controller) keeps(m *member, k Keeps) {
	for _, u := range k.Runs[:min(len(k.Runs), mostListed)] {
		if h := c.runs[u]; h == nil {
			c.stray(m, u)
		} else {
			h.uses(m)
		}
	}
}

// spares returns how the ids of the objects begin that results name.
func spares(results []Located) (all []string) {
	for _, l := range results {
		all = append(all, l.Output.Names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sound returns names that are not too many.
func sound(names []string) []string {
	n := 0
	for _, s := range names {
		n += len(s)
	}
	if n > MaxNames || len(names) > MaxNames/8 {
		return []string{""}
	}
	return names
}
