package messages

import (
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// MemberToProto returns m as a message.
func MemberToProto(m view.Member) *Member {
	return &Member{Id: string(m.ID), Control: m.Control, Data: m.Data, Version: m.Version, Features: m.Features, Leaving: m.Leaving}
}

// MemberFromProto is the inverse of MemberToProto.
func MemberFromProto(m *Member) (view.Member, error) {
	f := &fields{}
	v := f.member("member", m)
	return v, f.err
}

func (f *fields) member(name string, m *Member) view.Member {
	id := f.node(name+".id", m.GetId())
	if f.err == nil && id.Name() == "" {
		f.bad(name+".id", "%q has no name", m.GetId())
	}
	return view.Member{ID: id, Control: m.GetControl(), Data: m.GetData(), Version: m.GetVersion(),
		Features: m.GetFeatures(), Leaving: m.GetLeaving()}
}

// CommonToProto returns c as a message.
func CommonToProto(c view.Common) *Common {
	return &Common{Name: fromText(c.Name), Wire: fromText(c.Wire)}
}

// CommonFromProto is the inverse of CommonToProto. It returns an empty Common for an unknown
// message, which is refused.
func CommonFromProto(m *Common) view.Common { return view.Common{Name: m.GetName(), Wire: m.GetWire()} }

// ViewToProto returns v as a message.
func ViewToProto(v view.View) *View {
	m := &View{Number: v.Number, Left: v.Left, Cluster: string(v.Cluster), Common: CommonToProto(v.Common), Voters: fromStrings(v.Voters),
		Former: string(v.Former), Restarts: v.Restarts, Members: make([]*Member, len(v.Members)), Shards: make([]*Shard, len(v.Shards))}
	for i, member := range v.Members {
		m.Members[i] = MemberToProto(member)
	}
	for _, member := range v.Missing {
		m.Missing = append(m.Missing, MemberToProto(member))
	}
	for _, first := range v.Firsts {
		m.Firsts = append(m.Firsts, &First{Feature: first.Feature, Node: string(first.Node)})
	}
	for i, s := range v.Shards {
		m.Shards[i] = &Shard{Epoch: s.Epoch, Owner: string(s.Owner), Backup: string(s.Backup), Next: string(s.Next), LostAt: s.LostAt}
	}
	return m
}

// ViewFromProto is the inverse of ViewToProto. It leaves to the core to check
// that the parts of the view fit together.
func ViewFromProto(m *View) (view.View, error) {
	f := &fields{}
	v := f.view(m)
	return v, f.err
}

func (f *fields) view(m *View) view.View {
	if len(m.GetShards()) == 0 {
		f.missing("view.shards")
	}
	v := view.View{Number: m.GetNumber(), Left: m.GetLeft(), Cluster: f.node("view.cluster", m.GetCluster()), Common: CommonFromProto(m.GetCommon()),
		Voters: f.nodes("view.voters", m.GetVoters()), Former: f.maybeNode("view.former", m.GetFormer()), Restarts: m.GetRestarts()}
	for _, member := range m.GetMembers() {
		v.Members = append(v.Members, f.member("view.member", member))
	}
	for _, member := range m.GetMissing() {
		v.Missing = append(v.Missing, f.member("view.missing", member))
	}
	for _, first := range m.GetFirsts() {
		v.Firsts = append(v.Firsts, view.First{Feature: first.GetFeature(), Node: f.node("view.first", first.GetNode())})
	}
	for _, s := range m.GetShards() {
		v.Shards = append(v.Shards, view.Shard{Epoch: s.GetEpoch(), Owner: f.maybeNode("shard.owner", s.GetOwner()),
			Backup: f.maybeNode("shard.backup", s.GetBackup()), Next: f.maybeNode("shard.next", s.GetNext()),
			LostAt: s.GetLostAt()})
	}
	return v
}

// JoinRequestToProto returns the request of a node that says a of itself.
func JoinRequestToProto(m view.Member, c view.Common, a join.Answer) *JoinRequest {
	return &JoinRequest{Member: MemberToProto(m), Common: CommonToProto(c), Cluster: string(a.Cluster), Ready: a.Ready}
}

// JoinRequestFromProto is the inverse of JoinRequestToProto.
func JoinRequestFromProto(m *JoinRequest) (view.Member, view.Common, join.Answer, error) {
	member, err := MemberFromProto(m.GetMember())
	f := &fields{err: err}
	a := join.Answer{From: member.ID, Cluster: f.maybeNode("join.cluster", m.GetCluster()), Ready: m.GetReady()}
	return member, CommonFromProto(m.GetCommon()), a, f.err
}

// JoinReplyToProto returns the reply that says a, with v if that has members, or err if that
// is not nil.
func JoinReplyToProto(a join.Answer, v view.View, err error) *JoinReply {
	m := &JoinReply{From: string(a.From), Ready: a.Ready, Promise: string(a.Promise), Stuck: a.Stuck, Cluster: string(a.Cluster)}
	switch {
	case err != nil:
		m.Error = ErrorToProto(err)
	case v.Cluster != "":
		m.View = ViewToProto(v)
	}
	return m
}

// JoinReplyFromProto is the inverse of JoinReplyToProto.
func JoinReplyFromProto(m *JoinReply) (a join.Answer, v view.View, err error) {
	f := &fields{}
	a = join.Answer{Cluster: f.maybeNode("join.cluster", m.GetCluster()), From: f.node("join.from", m.GetFrom()), Ready: m.GetReady(), Promise: f.maybeNode("join.promise", m.GetPromise()), Stuck: m.GetStuck()}
	if m.GetView() != nil {
		v = f.view(m.GetView())
		if a.Cluster != v.Cluster {
			f.bad("join.cluster", "%q, and the view is of %q", a.Cluster, v.Cluster)
		}
	}
	if f.err != nil {
		return join.Answer{}, view.View{}, f.err
	}
	return a, v, ErrorFromProto(m.GetError())
}

// CommandToProto returns c as a message.
func CommandToProto(c view.Command) *ViewCommand {
	switch c := c.(type) {
	case view.AddMember:
		return &ViewCommand{Command: &ViewCommand_AddMember{&AddMember{Member: MemberToProto(c.Member), Common: CommonToProto(c.Common), Replaces: string(c.Replaces)}}}
	case view.RemoveMember:
		return &ViewCommand{Command: &ViewCommand_RemoveMember{&RemoveMember{Node: string(c.Node), Dead: c.Dead, HandedOver: c.HandedOver}}}
	case view.Leaving:
		return &ViewCommand{Command: &ViewCommand_Leaving{&LeavingMember{Node: string(c.Node), Stays: c.Stays}}}
	case view.InSync:
		m := &InSync{}
		for _, s := range c.Shards {
			m.Shards = append(m.Shards, &Synced{Shard: uint32(s.Shard), Epoch: s.Epoch, Node: string(s.Node)})
		}
		return &ViewCommand{Command: &ViewCommand_InSync{m}}
	case view.Drop:
		return &ViewCommand{Command: &ViewCommand_Drop{&DropReplica{Shard: uint32(c.Shard), Epoch: c.Epoch, Node: string(c.Node)}}}
	}
	return &ViewCommand{} // the interface is closed; the test has every command
}

// CommandFromProto is the inverse of CommandToProto.
func CommandFromProto(m *ViewCommand) (view.Command, error) {
	f := &fields{}
	c := f.command(m)
	if f.err != nil {
		return nil, f.err
	}
	return c, nil
}

func (f *fields) command(m *ViewCommand) view.Command {
	switch c := m.GetCommand().(type) {
	case *ViewCommand_AddMember:
		return view.AddMember{Member: f.member("add_member.member", c.AddMember.GetMember()), Common: CommonFromProto(c.AddMember.GetCommon()),
			Replaces: f.maybeNode("add_member.replaces", c.AddMember.GetReplaces())}
	case *ViewCommand_RemoveMember:
		return view.RemoveMember{Node: f.node("remove_member.node", c.RemoveMember.GetNode()), Dead: c.RemoveMember.GetDead(),
			HandedOver: c.RemoveMember.GetHandedOver()}
	case *ViewCommand_Leaving:
		return view.Leaving{Node: f.node("leaving.node", c.Leaving.GetNode()), Stays: c.Leaving.GetStays()}
	case *ViewCommand_InSync:
		var in view.InSync
		for _, s := range c.InSync.GetShards() {
			in.Shards = append(in.Shards, view.Synced{Shard: f.index("in_sync.shard", s.GetShard()), Epoch: s.GetEpoch(),
				Node: f.node("in_sync.node", s.GetNode())})
		}
		return in
	case *ViewCommand_Drop:
		return view.Drop{Shard: f.index("drop.shard", c.Drop.GetShard()), Epoch: c.Drop.GetEpoch(),
			Node: f.node("drop.node", c.Drop.GetNode())}
	}
	f.missing("command")
	return nil
}
