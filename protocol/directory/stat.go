package directory

import (
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// MaxList bounds the entries of one answer to List.
const MaxList = 1000

func (s *Shard) stat(o *object, detail bool) ObjectStat {
	st := ObjectStat{Object: o.rec.Object, State: s.state(o), Gen: o.rec.Gen, Meta: o.meta(), Digest: o.rec.Digest,
		Inline: o.rec.Inline, Maker: o.rec.Maker, Origin: o.rec.Origin}
	if !detail {
		return st
	}
	for _, h := range o.holders {
		switch {
		case h.gen != o.rec.Gen:
		case len(st.Holders) == MaxStat:
			st.Hidden++
		default:
			st.Holders = append(st.Holders, HolderStat{Node: h.node, Complete: h.complete, Pinned: h.pinned, Origin: h.origin, Upstream: h.upstream})
		}
	}
	n := min(len(o.waiters), MaxStat)
	for _, r := range o.waiters[:n] {
		st.Waiting = append(st.Waiting, r.From)
	}
	st.Hidden += len(o.waiters) - n
	return st
}

// list returns the bound ids in order.
func (s *Shard) list(l List) []ObjectStat {
	limit := l.Limit
	if limit <= 0 || limit > MaxList {
		limit = MaxList
	}
	var out []ObjectStat
	for _, id := range s.ids.from(s, max(l.After, phalanx.ObjectID(l.Prefix))) {
		if !strings.HasPrefix(string(id), l.Prefix) {
			break
		}
		o := s.objects[id]
		if o == nil || id == l.After || o.rec.State == Unbound || o.rec.State == Deleted {
			continue
		}
		if out = append(out, s.stat(o, false)); len(out) == limit {
			break
		}
	}
	return slices.Clip(out)
}

// ids are the ids of all objects, in order. The first List sorts them, and so does the
// next one after there are new objects. Some objects may be gone.
type ids struct {
	sorted []phalanx.ObjectID
	stale  bool
}

// from returns the ids from one on.
func (all *ids) from(s *Shard, id phalanx.ObjectID) []phalanx.ObjectID {
	if all.stale || len(all.sorted) > 2*len(s.objects) {
		all.sorted, all.stale = slices.AppendSeq(make([]phalanx.ObjectID, 0, len(s.objects)), maps.Keys(s.objects)), false
		slices.Sort(all.sorted)
	}
	at, _ := slices.BinarySearch(all.sorted, id)
	return all.sorted[at:]
}
