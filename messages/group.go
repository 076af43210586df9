package messages

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/group"
)

// GroupToProto returns a message of from's group core to another node.
func GroupToProto(from, to phalanx.NodeID, m group.Message) *GroupLetter {
	l := &GroupLetter{From: string(from), To: string(to)}
	switch m := m.(type) {
	case group.Contribute:
		l.Life = m.Life
		c := &GroupContribute{Group: m.Group, Try: m.Try, Idle: m.Idle, Seq: m.Seq, View: m.View, Gone: fromRanks(m.Gone), Roster: fromRoster(m.Roster)}
		for _, p := range m.Parts {
			c.Parts = append(c.Parts, &GroupPart{Rank: uint32(p.Rank), Purpose: uint32(p.For), Value: p.Value, Op: uint32(p.Op), Acked: fromRanks(p.Acked),
				Newcomers: fromMembers(p.Newcomers), AtLeast: uint32(p.AtLeast), JoinTimeout: int64(p.JoinTimeout)})
		}
		l.Message = &GroupLetter_Contribute{c}
	case group.Ask:
		l.Life = m.Life
		l.Message = &GroupLetter_Ask{&GroupAsk{Group: m.Group, Seq: m.Seq, Roster: m.Roster}}
	case group.Standing:
		l.Life = m.Life
		l.Message = &GroupLetter_Standing{&GroupStanding{Of: m.Of, Try: m.Try, Group: m.Group, Seq: m.Seq, Absent: fromRanks(m.Absent)}}
	case group.Propose:
		l.Life = m.Life
		l.Message = &GroupLetter_Propose{&GroupPropose{Group: m.Group, Seq: m.Seq, Term: m.Term, Decision: fromDecision(m.Decision), Roster: fromRoster(m.Roster)}}
	case group.Accept:
		l.Life = m.Life
		l.Message = &GroupLetter_Accept{&GroupAccept{Group: m.Group, Seq: m.Seq, Term: m.Term}}
	case group.Decide:
		l.Life = m.Life
		l.Message = &GroupLetter_Decide{&GroupDecide{Try: m.Try, Group: m.Group, Seq: m.Seq, Decision: fromDecision(m.Decision)}}
	case group.Declined:
		l.Life = m.Life
		l.Message = &GroupLetter_Declined{m.Group}
	case group.Tell:
		l.Message, l.Life = &GroupLetter_Tell{fromTell(m)}, lifeOf(m.News)
	case group.Ack:
		l.Message = &GroupLetter_Ack{m.Num}
	}
	return l
}

// lifeOf returns the life of the group that news is of.
func lifeOf(n group.News) uint64 {
	switch n := n.(type) {
	case group.Revoke:
		return n.Life
	case group.Gone:
		return n.Life
	}
	return 0
}

func fromTell(m group.Tell) *GroupTell {
	t := &GroupTell{Num: m.Num}
	switch n := m.News.(type) {
	case group.Revoke:
		r := &GroupRevoke{Group: n.Group, Of: n.Of, OfSeq: n.Seq, Revocation: fromRevocation(n.Revocation)}
		for _, h := range n.Hops {
			r.Hops = append(r.Hops, uint32(h.From+1), uint32(h.To))
		}
		t.News = &GroupTell_Revoke{r}
	case group.Gone:
		t.News = &GroupTell_Gone{&GroupGone{Group: n.Group, Of: n.Of, OfSeq: n.Seq, Ranks: fromRanks(n.Ranks)}}
	case group.Invite:
		t.News = &GroupTell_Invite{&GroupInvite{Group: n.Group, Roster: fromRoster(n.Roster), Rank: uint32(n.Rank)}}
	}
	return t
}

func fromRevocation(r group.Revocation) *GroupRevocation {
	return &GroupRevocation{By: uint32(r.By), Reason: fromText(r.Reason), At: r.At}
}

func fromDecision(d group.Decision) *GroupDecision {
	return &GroupDecision{Purpose: uint32(d.For), View: d.View, Mismatch: fromText(d.Mismatch), Value: d.Value, Failed: fromRanks(d.Failed),
		Unacknowledged: fromRanks(d.Unacknowledged), Group: d.Group, Roster: fromRoster(d.Roster)}
}

func fromRoster(r *group.Roster) *GroupRoster {
	if r == nil {
		return nil
	}
	return &GroupRoster{Members: fromMembers(r.Members())}
}

func fromMembers(all []group.Member) []*GroupMember {
	var out []*GroupMember
	for _, m := range all {
		out = append(out, &GroupMember{Node: string(m.Node), Label: m.Label})
	}
	return out
}

func fromRanks(all []int) []uint32 {
	var out []uint32
	for _, r := range all {
		out = append(out, uint32(r))
	}
	return out
}

// GroupFromProto is the inverse of GroupToProto.
func GroupFromProto(l *GroupLetter) (from, to phalanx.NodeID, m group.Message, err error) {
	f := &fields{}
	from, to = f.node("group.from", l.GetFrom()), f.node("group.to", l.GetTo())
	m = f.group(l)
	if f.err != nil {
		return "", "", nil, f.err
	}
	return from, to, m, nil
}

func (f *fields) group(l *GroupLetter) group.Message {
	switch m := l.GetMessage().(type) {
	case *GroupLetter_Contribute:
		c := group.Contribute{Life: l.GetLife(), Try: m.Contribute.GetTry(), Idle: m.Contribute.GetIdle(), Group: m.Contribute.GetGroup(), Seq: m.Contribute.GetSeq(), View: m.Contribute.GetView(), Gone: f.ranks(m.Contribute.GetGone()),
			Roster: f.maybeRoster(m.Contribute.GetRoster())}
		for _, p := range m.Contribute.GetParts() {
			c.Parts = append(c.Parts, group.Part{Rank: f.rank(p.GetRank()), Contribution: group.Contribution{For: f.purpose(p.GetPurpose()), Value: p.GetValue(),
				Op: small(f, "part.op", p.GetOp(), group.Max), Acked: f.ranks(p.GetAcked()), Newcomers: f.members(p.GetNewcomers()),
				Quorum: group.Quorum{AtLeast: f.rank(p.GetAtLeast()), JoinTimeout: max(0, time.Duration(p.GetJoinTimeout()))}}})
		}
		return c
	case *GroupLetter_Ask:
		return group.Ask{Life: l.GetLife(), Group: m.Ask.GetGroup(), Seq: m.Ask.GetSeq(), Roster: m.Ask.GetRoster()}
	case *GroupLetter_Standing:
		return group.Standing{Life: l.GetLife(), Of: m.Standing.GetOf(), Try: m.Standing.GetTry(), Group: m.Standing.GetGroup(), Seq: m.Standing.GetSeq(), Absent: f.ranks(m.Standing.GetAbsent())}
	case *GroupLetter_Propose:
		return group.Propose{Life: l.GetLife(), Group: m.Propose.GetGroup(), Seq: m.Propose.GetSeq(), Term: m.Propose.GetTerm(), Decision: f.decision(m.Propose.GetDecision()),
			Roster: f.maybeRoster(m.Propose.GetRoster())}
	case *GroupLetter_Accept:
		return group.Accept{Life: l.GetLife(), Group: m.Accept.GetGroup(), Seq: m.Accept.GetSeq(), Term: m.Accept.GetTerm()}
	case *GroupLetter_Decide:
		return group.Decide{Life: l.GetLife(), Try: m.Decide.GetTry(), Group: m.Decide.GetGroup(), Seq: m.Decide.GetSeq(), Decision: f.decision(m.Decide.GetDecision())}
	case *GroupLetter_Declined:
		return group.Declined{Group: m.Declined, Life: l.GetLife()}
	case *GroupLetter_Tell:
		return group.Tell{Num: m.Tell.GetNum(), News: f.news(m.Tell, l.GetLife())}
	case *GroupLetter_Ack:
		return group.Ack{Num: m.Ack}
	}
	f.missing("group.message")
	return nil
}

func (f *fields) news(t *GroupTell, life uint64) group.News {
	switch n := t.GetNews().(type) {
	case *GroupTell_Revoke:
		r := group.Revoke{Named: group.Named{Group: n.Revoke.GetGroup(), Life: life, Of: n.Revoke.GetOf(), Seq: n.Revoke.GetOfSeq()}, Revocation: f.revocation(n.Revoke.GetRevocation())}
		hops := n.Revoke.GetHops()
		if len(hops)%2 != 0 {
			f.bad("revoke.hops", "%d numbers are no pairs", len(hops))
			return nil
		}
		for i := 0; i < len(hops); i += 2 {
			r.Hops = append(r.Hops, group.Hop{From: f.rank(hops[i]) - 1, To: f.rank(hops[i+1])})
		}
		return r
	case *GroupTell_Gone:
		return group.Gone{Named: group.Named{Group: n.Gone.GetGroup(), Life: life, Of: n.Gone.GetOf(), Seq: n.Gone.GetOfSeq()}, Ranks: f.ranks(n.Gone.GetRanks())}
	case *GroupTell_Invite:
		return group.Invite{Group: n.Invite.GetGroup(), Roster: f.roster(n.Invite.GetRoster()), Rank: f.rank(n.Invite.GetRank())}
	}
	f.missing("tell.news")
	return nil
}

func (f *fields) revocation(m *GroupRevocation) group.Revocation {
	if m == nil {
		f.missing("revocation")
	}
	return group.Revocation{By: f.rank(m.GetBy()), Reason: m.GetReason(), At: m.GetAt()}
}

func (f *fields) decision(m *GroupDecision) group.Decision {
	if m == nil {
		f.missing("decision")
	}
	d := group.Decision{For: f.purpose(m.GetPurpose()), View: m.GetView(), Mismatch: m.GetMismatch(), Value: m.GetValue(), Failed: f.ranks(m.GetFailed()),
		Unacknowledged: f.ranks(m.GetUnacknowledged()), Group: m.GetGroup(), Roster: f.maybeRoster(m.GetRoster())}
	if makes := d.For == group.ForShrink || d.For == group.ForGrow; makes && d.Mismatch == "" && d.Roster == nil {
		f.missing("decision.roster")
	}
	return d
}

func (f *fields) purpose(v uint32) group.Purpose {
	p := small(f, "purpose", v, group.ForGrow)
	if p == 0 {
		f.missing("purpose")
	}
	return p
}

func (f *fields) maybeRoster(m *GroupRoster) *group.Roster {
	if m == nil {
		return nil
	}
	return f.roster(m)
}

func (f *fields) roster(m *GroupRoster) *group.Roster {
	r, err := group.NewRoster(f.members(m.GetMembers()))
	if err != nil {
		f.bad("roster", "%w", err)
	}
	return r
}

func (f *fields) members(all []*GroupMember) []group.Member {
	var out []group.Member
	for _, m := range all {
		out = append(out, group.Member{Node: f.node("member.node", m.GetNode()), Label: m.GetLabel()})
	}
	return out
}

// rank takes a rank, or one higher.
func (f *fields) rank(n uint32) int {
	if n > group.MaxMembers {
		f.bad("rank", "%d is more than %d", n, group.MaxMembers)
		return 0
	}
	return int(n)
}

func (f *fields) ranks(all []uint32) []int {
	var out []int
	for _, n := range all {
		out = append(out, f.rank(n))
	}
	return out
}

// GroupsSeenToProto returns a node's report on its groups; more are left out.
func GroupsSeenToProto(all []group.Seen, more int) *GroupLooked {
	m := &GroupLooked{More: int64(more)}
	for _, s := range all {
		seen := &GroupSeen{Name: s.Name, Roster: fromRoster(s.Roster), Failed: fromRanks(s.Failed), Left: fromRanks(s.Left), Sent: int64(s.Sent)}
		if s.Revoked != nil {
			seen.Revoked = fromRevocation(*s.Revoked)
		}
		m.Seen = append(m.Seen, seen)
	}
	return m
}

// GroupsSeenFromProto is the inverse of GroupsSeenToProto.
func GroupsSeenFromProto(m *GroupLooked) (all []group.Seen, more int, err error) {
	f := &fields{}
	for _, s := range m.GetSeen() {
		seen := group.Seen{Name: s.GetName(), Roster: f.roster(s.GetRoster()), Failed: f.ranks(s.GetFailed()), Left: f.ranks(s.GetLeft()), Sent: f.number("sent", s.GetSent())}
		if r := s.GetRevoked(); r != nil {
			why := f.revocation(r)
			seen.Revoked = &why
		}
		all = append(all, seen)
	}
	return all, f.number("more", m.GetMore()), f.err
}
