package replica

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Batch names a batch that comes with the state before it.
type Batch struct {
	From phalanx.NodeID // the primary
	Version
	Stamp time.Duration // of all pieces of one state
}

// Pieces counts the items of one state that have come. The zero Pieces has none.
type Pieces struct {
	have, total int
	begun       bool // the first piece has come
}

// Next reports whether a piece is the next one, and counts it: it has n items from the item from
// on, of so many in all.
func (p *Pieces) Next(from, n, total int) bool {
	if from == 0 && !p.begun {
		p.total, p.begun = total, true
	}
	if !p.begun || from != p.have || total != p.total {
		return false
	}
	p.have += n
	return true
}

// Have returns how many items have come.
func (p *Pieces) Have() int { return p.have }

// Whole reports whether all have.
func (p *Pieces) Whole() bool { return p.begun && p.have == p.total }

// Arrival is a state that a backup gets in pieces.
type Arrival[S any] struct {
	Batch
	Pieces
	State S // of the host, which adds each next piece
}

// Arrivals are the states that a node's backups get. The zero Arrivals has none.
type Arrivals[K comparable, S any] struct {
	of map[K]*Arrival[S]
}

// Of returns the arrival of the piece that comes with a batch, or nil if the piece is late. The
// first piece of another state ends the arrival before it.
func (a *Arrivals[K, S]) Of(k K, b Batch) *Arrival[S] {
	one := a.of[k]
	if one != nil && one.Batch == b {
		return one
	}
	if one != nil && (one.Term > b.Term || one.Term == b.Term && one.Stamp > b.Stamp) {
		return nil
	}
	one = &Arrival[S]{Batch: b}
	if a.of == nil {
		a.of = map[K]*Arrival[S]{}
	}
	a.of[k] = one
	return one
}

// End forgets the arrival of a key: it is whole, or is not needed any more.
func (a *Arrivals[K, S]) End(k K) { delete(a.of, k) }

// Reset forgets all arrivals, as the members are others.
func (a *Arrivals[K, S]) Reset() { a.of = nil }
