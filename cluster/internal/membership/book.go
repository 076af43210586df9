package membership

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// book knows the addresses of members, and for a while of future and former members, which
// must learn the view.
type book struct {
	at     map[phalanx.NodeID]string
	others []phalanx.NodeID // in at, but not in the view; oldest first
	view   view.View
}

// maxOthers bounds how many nodes outside of the view are remembered.
const maxOthers = 64

func (b *book) learn(v view.View) {
	for _, m := range b.view.Members {
		if !v.Has(m.ID) {
			b.others = append(b.others, m.ID)
		}
	}
	b.view = v
	for _, m := range v.Members {
		b.at[m.ID] = m.Control
	}
	for _, m := range v.Missing { // in case they come back
		b.at[m.ID] = m.Control
	}
	b.trim()
}

// heard notes where a message came from.
func (b *book) heard(node phalanx.NodeID, address string) {
	if _, ok := b.at[node]; !ok && address != "" {
		b.at[node] = address
		b.others = append(b.others, node)
		b.trim()
	}
}

func (b *book) trim() {
	for len(b.others) > maxOthers {
		if id := b.others[0]; !b.view.Has(id) && !slices.ContainsFunc(b.view.Missing, func(m view.Member) bool { return m.ID == id }) {
			delete(b.at, id)
		}
		b.others = b.others[1:]
	}
}

// member returns the member at address.
func (b *book) member(address string) (phalanx.NodeID, bool) {
	for _, m := range b.view.Members {
		if m.Control == address {
			return m.ID, true
		}
	}
	return "", false
}
