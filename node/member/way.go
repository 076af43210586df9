package member

import "slices"

// Way is how an incarnation of a node comes into a cluster.
type Way struct {
	Seeds    []string
	Known    []string // addresses that are asked as well
	Again    bool     // the node was a member before, together with those
	Waits    bool     // it begins no cluster, whoever is asked
	Restarts uint64   // of a cluster that it begins
}

// FirstWay returns how a process comes into a cluster that has just started at own. Resumes says that a disk of its belongs
// to a cluster, whose other nodes may be known.
func FirstWay(own string, seeds, known []string, resumes bool) Way {
	w := Way{Seeds: seeds, Known: known, Waits: resumes}
	if resumes && len(seeds)+len(known) == 0 {
		w.Known = []string{own} // without any it would begin a cluster
	}
	return w
}

// BeginWay returns the way of a node that begins a cluster anew.
func BeginWay(restarts uint64) Way { return Way{Restarts: restarts} }

// EnterWay returns the way of a node that is to enter the cluster of the node at an address.
func EnterWay(address string) Way { return Way{Known: []string{address}, Again: true, Waits: true} }

// JoinsOnly reports whether a node at own begins no cluster on this way.
func (w Way) JoinsOnly(own string) bool {
	return w.Waits || w.Again && slices.ContainsFunc(slices.Concat(w.Seeds, w.Known), func(s string) bool { return s != own })
}

// Ways are the way that an incarnation is on, and the one that was ordered for the next. The zero value has none.
type Ways struct {
	next *Way // nil: none was ordered
	now  *Way // nil: no incarnation comes into a cluster
}

// Order takes the way of the next incarnation, which begins at once: this one ends, or its attempt. It returns false if an
// incarnation is on such a way already, or will be.
func (a *Ways) Order(w Way) bool {
	same := func(o *Way) bool {
		return o != nil && o.Restarts == w.Restarts && o.Waits == w.Waits && (!w.Waits || slices.Contains(slices.Concat(o.Seeds, o.Known), w.Known[0]))
	}
	if same(a.now) || same(a.next) {
		return false
	}
	a.next = &w
	return true
}

// Take returns the way that was ordered, or else w.
func (a *Ways) Take(w Way) Way {
	if a.next != nil {
		w, a.next = *a.next, nil
	}
	return w
}

// Ordered reports whether a way waits for the next incarnation.
func (a *Ways) Ordered() bool { return a.next != nil }

// Begin notes that an incarnation goes a way, and End that it is there, or has given up.
func (a *Ways) Begin(w Way) { a.now = &w }

// End ends what Begin has begun.
func (a *Ways) End() { a.now = nil }
