package messages

import "github.com/phalanx-go/phalanx/protocol/directory"

func fromResult(r *directory.Result) *Reply {
	m := &Reply{Kind: Kind(r.Kind), Text: fromText(r.Text), NotOwner: r.NotOwner, Waiting: r.Waiting,
		State: ObjectState(r.State), Gen: fromGen(r.Gen), Meta: fromMeta(r.Meta), Digest: fromDigest(r.Digest),
		Inline: r.Inline, IsInline: r.IsInline, Note: r.Note, Attached: string(r.Attached), Lease: r.Lease,
		Sender: string(r.Sender), Beside: r.Beside, Origin: string(r.Origin), Listed: r.Listed, Tag: r.Tag,
		Deleted: fromGen(r.Deleted)}
	if r.Stat != nil {
		m.Stat = fromStat(r.Stat)
	}
	for i := range r.List {
		m.List = append(m.List, fromStat(&r.List[i]))
	}
	return m
}

func (f *fields) result(m *Reply) directory.Result {
	r := directory.Result{Kind: f.kind("reply.kind", m.GetKind()), Text: m.GetText(), NotOwner: m.GetNotOwner(),
		Waiting: m.GetWaiting(), State: enum(f, "reply.state", m.GetState(), directory.Deleted), Gen: toGen(m.GetGen()),
		Meta: f.meta("reply.meta", m.GetMeta()), Digest: f.digest("reply.digest", m.GetDigest()),
		Inline: m.GetInline(), IsInline: m.GetIsInline(), Note: m.GetNote(),
		Attached: f.maybeNode("reply.attached", m.GetAttached()), Lease: m.GetLease(),
		Sender: f.maybeNode("reply.sender", m.GetSender()), Beside: m.GetBeside(),
		Origin: f.maybeNode("reply.origin", m.GetOrigin()), Listed: m.GetListed(), Tag: m.GetTag(),
		Deleted: toGen(m.GetDeleted())}
	if s := m.GetStat(); s != nil {
		stat := f.stat(s)
		r.Stat = &stat
	}
	for _, s := range m.GetList() {
		r.List = append(r.List, f.stat(s))
	}
	return r
}

func fromStat(s *directory.ObjectStat) *ObjectStat {
	m := &ObjectStat{Object: string(s.Object), State: ObjectState(s.State), Gen: fromGen(s.Gen), Meta: fromMeta(s.Meta),
		Digest: fromDigest(s.Digest), Inline: s.Inline, Maker: Maker(s.Maker), Origin: string(s.Origin),
		Waiting: fromStrings(s.Waiting), Hidden: int64(s.Hidden)}
	for _, h := range s.Holders {
		m.Holders = append(m.Holders, &HolderStat{Node: string(h.Node), Complete: h.Complete, Pinned: h.Pinned,
			Origin: h.Origin, Upstream: string(h.Upstream)})
	}
	return m
}

func (f *fields) stat(m *ObjectStat) directory.ObjectStat {
	s := directory.ObjectStat{Object: f.object("stat.object", m.GetObject()),
		State: enum(f, "stat.state", m.GetState(), directory.Deleted), Gen: toGen(m.GetGen()),
		Meta: f.meta("stat.meta", m.GetMeta()), Digest: f.digest("stat.digest", m.GetDigest()), Inline: m.GetInline(),
		Maker: enum(f, "stat.maker", m.GetMaker(), directory.ByReduce), Origin: f.maybeNode("stat.origin", m.GetOrigin()),
		Waiting: f.nodes("stat.waiting", m.GetWaiting()), Hidden: f.count("stat.hidden", m.GetHidden())}
	for _, h := range m.GetHolders() {
		s.Holders = append(s.Holders, directory.HolderStat{Node: f.node("holder.node", h.GetNode()),
			Complete: h.GetComplete(), Pinned: h.GetPinned(), Origin: h.GetOrigin(),
			Upstream: f.maybeNode("holder.upstream", h.GetUpstream())})
	}
	return s
}

func fromReadiness(r *directory.Readiness) *Readiness {
	m := &Readiness{Version: r.Version, Maker: Maker(r.Maker), State: ObjectState(r.State), Gen: fromGen(r.Gen), Meta: fromMeta(r.Meta),
		Digest: fromDigest(r.Digest), Inline: r.Inline, Bytes: r.Bytes, After: fromGen(r.After)}
	for _, l := range r.Ready {
		m.Ready = append(m.Ready, &Location{Node: string(l.Node), Complete: l.Complete})
	}
	return m
}

func (f *fields) readiness(m *Readiness) directory.Readiness {
	r := directory.Readiness{Version: m.GetVersion(), Maker: enum(f, "readiness.maker", m.GetMaker(), directory.ByReduce), State: enum(f, "readiness.state", m.GetState(), directory.Deleted),
		Gen: toGen(m.GetGen()), Meta: f.meta("readiness.meta", m.GetMeta()),
		Digest: f.digest("readiness.digest", m.GetDigest()), Inline: m.GetInline(), Bytes: m.GetBytes(), After: toGen(m.GetAfter())}
	for _, l := range m.GetReady() {
		r.Ready = append(r.Ready, directory.Location{Node: f.node("location.node", l.GetNode()), Complete: l.GetComplete()})
	}
	return r
}
