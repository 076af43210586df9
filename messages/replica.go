package messages

import "github.com/phalanx-go/phalanx/protocol/directory"

func fromReplicate(r directory.Replicate) *Replicate {
	m := &Replicate{Epoch: r.Epoch, Stream: r.Stream, First: r.First}
	for i := range r.Changes {
		c := &Change{End: r.Changes[i].End, Rebuilding: r.Changes[i].Rebuilding}
		if !c.End {
			c.Record = fromRecord(&r.Changes[i].Record)
		}
		m.Changes = append(m.Changes, c)
	}
	return m
}

func (f *fields) replicate(m *Replicate) directory.Replicate {
	r := directory.Replicate{Epoch: m.GetEpoch(), Stream: m.GetStream(), First: m.GetFirst()}
	for _, c := range m.GetChanges() {
		if c.GetEnd() {
			r.Changes = append(r.Changes, directory.Change{End: true, Rebuilding: c.GetRebuilding()})
			continue
		}
		r.Changes = append(r.Changes, directory.Change{Record: f.record(c.GetRecord())})
	}
	return r
}

func fromRecord(r *directory.Record) *Record {
	return &Record{Object: string(r.Object), State: ObjectState(r.State), Gen: fromGen(r.Gen), Meta: fromMeta(r.Meta),
		Digest: fromDigest(r.Digest), Maker: Maker(r.Maker), Tag: []byte(r.Tag), Note: r.Note, Origin: string(r.Origin),
		OriginNum: r.OriginNum, Inline: r.Inline, Bytes: r.Bytes, Copies: int64(r.Copies), Evicted: fromStrings(r.Evicted), Run: r.Run,
		After: fromGen(r.After), Released: fromGen(r.Released), First: fromGen(r.First)}
}

func (f *fields) record(m *Record) directory.Record {
	return directory.Record{Object: f.object("record.object", m.GetObject()),
		State: enum(f, "record.state", m.GetState(), directory.Deleted), Gen: toGen(m.GetGen()),
		Meta: f.meta("record.meta", m.GetMeta()), Digest: f.digest("record.digest", m.GetDigest()),
		Maker: enum(f, "record.maker", m.GetMaker(), directory.ByReduce), Tag: string(m.GetTag()), Note: m.GetNote(),
		Origin: f.maybeNode("record.origin", m.GetOrigin()), OriginNum: m.GetOriginNum(), Inline: m.GetInline(),
		Bytes: m.GetBytes(), Copies: f.count("record.copies", m.GetCopies()),
		Evicted: f.nodes("record.evicted", m.GetEvicted()), Run: m.GetRun(), After: toGen(m.GetAfter()), Released: toGen(m.GetReleased()), First: toGen(m.GetFirst())}
}

func fromHoldings(h directory.Holdings) *Holdings {
	m := &Holdings{Epoch: h.Epoch, Round: h.Round, Part: h.Part, End: h.End, Before: h.Before}
	for i := range h.Holdings {
		c := &h.Holdings[i]
		m.Holdings = append(m.Holdings, &Holding{Object: string(c.Object), Gen: fromGen(c.Gen), Meta: fromMeta(c.Meta),
			Digest: fromDigest(c.Digest), Complete: c.Complete, Pinned: c.Pinned, Origin: c.Origin, Begun: c.Begun,
			Lease: c.Lease, Upstream: string(c.Upstream), Copies: int64(c.Copies), Tag: []byte(c.Tag), Note: c.Note})
	}
	return m
}

func (f *fields) holdings(m *Holdings) directory.Holdings {
	h := directory.Holdings{Epoch: m.GetEpoch(), Round: m.GetRound(), Part: m.GetPart(), End: m.GetEnd(), Before: m.GetBefore()}
	for _, c := range m.GetHoldings() {
		h.Holdings = append(h.Holdings, directory.Holding{Object: f.object("holding.object", c.GetObject()),
			Gen: toGen(c.GetGen()), Meta: f.meta("holding.meta", c.GetMeta()),
			Digest: f.digest("holding.digest", c.GetDigest()), Complete: c.GetComplete(), Pinned: c.GetPinned(),
			Origin: c.GetOrigin(), Begun: c.GetBegun(), Lease: c.GetLease(),
			Upstream: f.maybeNode("holding.upstream", c.GetUpstream()),
			Copies:   f.count("holding.copies", c.GetCopies()), Tag: string(c.GetTag()), Note: c.GetNote()})
	}
	return h
}
