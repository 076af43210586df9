package ledger

import "slices"

// book knows where replicas are. The newest is last, and the oldest is forgotten.
type book struct {
	places     []Place
	remembered []string // by the folder
}

// maxBook bounds how many replicas are known: all of a group, and some that were in it.
const maxBook = 256

// put notes where a replica was heard.
func (b *book) put(replica uint64, address string) {
	if replica == 0 || address == "" {
		return
	}
	if i := b.index(replica); i >= 0 {
		if i == len(b.places)-1 && b.places[i].Address == address {
			return
		}
		b.places = slices.Delete(b.places, i, i+1)
	}
	b.places = append(b.places, Place{replica, address})
	if len(b.places) > maxBook {
		b.places = slices.Delete(b.places, 0, 1)
	}
}

// hint notes what another node knows, unless this one knows better.
func (b *book) hint(p Place, sure bool) {
	if sure || b.index(p.Replica) < 0 {
		b.put(p.Replica, p.Address)
	}
}

func (b *book) index(replica uint64) int {
	return slices.IndexFunc(b.places, func(p Place) bool { return p.Replica == replica })
}

// of returns the address of a replica, or "".
func (b *book) of(replica uint64) string {
	if i := b.index(replica); i >= 0 {
		return b.places[i].Address
	}
	return ""
}

// at returns the replicas at an address.
func (b *book) at(address string) (all []uint64) {
	for _, p := range b.places {
		if p.Address == address {
			all = append(all, p.Replica)
		}
	}
	return all
}

// known returns some places: those of the given replicas first.
func (b *book) known(first []uint64) []Place {
	var all []Place
	for _, p := range b.places {
		if slices.Contains(first, p.Replica) {
			all = append(all, p)
		}
	}
	for i := len(b.places) - 1; i >= 0 && len(first) == 0; i-- {
		all = append(all, b.places[i])
	}
	return all[:min(len(all), MaxPlaces)]
}
