package directory

import (
	"slices"
	"strings"
)

// maxList bounds the entries of one answer to List.
const maxList = 1000

func (s *Shard) stat(o *object, detail bool) ObjectStat {
	st := ObjectStat{Object: o.rec.Object, State: s.state(o), Gen: o.rec.Gen, Meta: o.rec.Meta, Digest: o.rec.Digest,
		Inline: o.rec.Inline, Maker: o.rec.Maker, Origin: o.rec.Origin}
	if !detail {
		return st
	}
	for _, h := range o.holders {
		if h.gen == o.rec.Gen {
			st.Holders = append(st.Holders, HolderStat{Node: h.node, Complete: h.complete, Pinned: h.pinned, Origin: h.origin, Upstream: h.upstream})
		}
	}
	for _, r := range o.waiters {
		st.Waiting = append(st.Waiting, r.From)
	}
	return st
}

// list returns the bound ids in order.
func (s *Shard) list(l List) []ObjectStat {
	limit := l.Limit
	if limit <= 0 || limit > maxList {
		limit = maxList
	}
	var out []ObjectStat
	for _, o := range s.sorted() {
		if o.rec.State == Unbound || o.rec.State == Deleted || o.rec.Object <= l.After || !strings.HasPrefix(string(o.rec.Object), l.Prefix) {
			continue
		}
		if out = append(out, s.stat(o, false)); len(out) == limit {
			break
		}
	}
	return slices.Clip(out)
}
