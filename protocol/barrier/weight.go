package barrier

// Weights are bounds of how long things are when they are encoded, in bytes. The core knows
// no encoding, and cuts its messages by them.

// defaultPart is how much goes in one message, besides a configuration.
const defaultPart = 256 << 10

// parcel is how many of all go together: as many as weigh no more than room, and at least one.
func parcel[T any](all []T, room int, weight func(*T) int) int {
	for i := range all {
		if room -= weight(&all[i]); room < 0 && i > 0 {
			return i
		}
	}
	return len(all)
}

func (e Entry) weight() int { return len(e.Host) + len(e.Label) + 12 }

// Weight bounds an encoded entrance.
func (e *Entrance) Weight() int {
	w := e.Entry.weight() + 56
	for _, n := range e.Nodes {
		w += len(n) + 14 // with its try
	}
	return w
}

// Weight bounds an encoded change.
func (op *Op) Weight() int { return op.Entry.weight() + len(op.Node) + 72 }

// Weight bounds an encoded request.
func (q *Request) Weight() int { return q.Entry.weight() + 40 }

// Weight bounds an encoded answer.
func (a *Answered) Weight() int { return a.Entry.weight() + 40 }

// Weight bounds an encoded question.
func (a *Asked) Weight() int { return a.Entry.weight() + 44 }

// Weight bounds an encoded configuration.
func (c *Config) Weight() int { return 220 + expectWeight(c.Expect) }

func expectWeight(names []string) int {
	w := 0
	for _, name := range names {
		w += len(name) + 3
	}
	return w
}

// Weight bounds an encoded Tomb.
func (t *Tomb) Weight() int { return t.Entry.weight() + len(t.Node) + 40 }

// Weight bounds the encoded length of a state without its items.
func (s *State) Weight() int {
	w := 270 + len(s.Watcher)
	for _, r := range s.Removals {
		w += len(r.Node) + 32
	}
	return w
}

// Weight bounds an encoded Reached.
func (m *Reached) Weight() int {
	w := m.Config.Weight() + m.Key.weight() + 24
	for i := range m.Requests {
		w += m.Requests[i].Weight()
	}
	return w
}

func (k Key) weight() int { return len(k.Name) + 20 }

// Memory of a replica, an entrance and a change, in bytes, besides their names; and of a barrier,
// and each participant, at a node from which it is entered.
const (
	replicaCost = 2000
	entryCost   = 500
	opCost      = 170
	groupCost   = 900
	partCost    = 700
	queryCost   = 250
)

// weigh takes note of r's memory. Labels are taken to be as long as the first one.
func (s *shelf) weigh(r *replica) {
	if s.replicas[r.key] != r || r.b == nil {
		return
	}
	w := replicaCost + 3*len(r.key.Name) + 2*expectWeight(r.b.cfg.Expect) + opCost*(len(r.pending)+len(r.flight))
	w += entryCost * len(r.b.Tombs)
	if n := len(r.b.Entrances); n > 0 {
		w += n * (entryCost + r.b.Entrances[0].Entry.weight())
	}
	s.weight += w - r.weight
	r.weight = w
}

// Memory is about how many bytes the core takes. It costs nothing to ask.
func (c *Core) Memory() int {
	w := c.weight + c.early.weight + c.words + c.past.weight() + groupCost*len(c.groups) + partCost*c.parts + queryCost*len(c.insiders) + queryCost*(len(c.queries)+len(c.joiners)+len(c.joins)+c.askersDue.Len())
	for _, o := range c.owing {
		w += 8 * (len(o.digests) + len(o.anew))
	}
	return w
}
