package messages

import (
	"errors"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/group"
)

var (
	aRoster       = rosterOf(group.Member{Node: "a#1", Label: "x"}, group.Member{Node: "b#1"}, group.Member{Node: "c#1"})
	aContribution = group.Contribution{For: group.ForAgree, Value: -5, Op: group.Max, Acked: []int{1, 2}, Newcomers: []group.Member{{Node: "d#1", Label: "y"}},
		Quorum: group.Quorum{AtLeast: 2, JoinTimeout: 3}}
	aDecision   = group.Decision{For: group.ForGrow, View: 1, Mismatch: "m", Value: -2, Failed: []int{1}, Unacknowledged: []int{2}, Group: "g~1", Roster: aRoster}
	aName       = group.Named{Group: "g", Life: 1 << 63, Of: "f", Seq: 4}
	aRevocation = group.Revocation{By: 2, Reason: "because", At: 3}

	groupLetters = []group.Message{
		group.Contribute{Group: "g", Life: 7, Seq: 1, View: 2, Try: 8, Idle: true, Parts: []group.Part{{Rank: 1, Contribution: aContribution}}, Gone: []int{2}, Roster: aRoster},
		group.Contribute{Group: "g"},
		group.Ask{Group: "g", Life: 7, Seq: 1, Roster: 2},
		group.Standing{Group: "g", Life: 7, Of: 6, Try: 5, Seq: 1, Absent: []int{1}},
		group.Propose{Group: "g", Life: 7, Seq: 1, Term: 2, Decision: aDecision, Roster: aRoster},
		group.Accept{Group: "g", Life: 7, Seq: 1, Term: 2},
		group.Decide{Group: "g", Life: 7, Try: 8, Seq: 1, Decision: aDecision},
		group.Decide{Group: "g", Seq: 1, Decision: group.Decision{For: group.ForForm}},
		group.Declined{Group: "g", Life: 7},
		group.Tell{Num: 1, News: group.Revoke{Named: aName, Revocation: aRevocation, Hops: []group.Hop{{From: 1, To: 2}, {From: -1, To: 0}}}},
		group.Tell{Num: 1, News: group.Gone{Named: aName, Ranks: []int{1}}},
		group.Tell{Num: 1, News: group.Invite{Group: "g", Roster: aRoster, Rank: 1}},
		group.Ack{Num: 1},
	}
)

func rosterOf(members ...group.Member) *group.Roster {
	r, err := group.NewRoster(members)
	if err != nil {
		panic(err)
	}
	return r
}

// Every message crosses, with every field: one that is new and not converted is
// found, as the first of its type sets all.
func TestGroupLettersCross(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, m := range groupLetters {
		typ := reflect.TypeOf(m)
		if tell, ok := m.(group.Tell); ok {
			typ = reflect.TypeOf(tell.News)
		}
		if !seen[typ] {
			seen[typ] = true
			complete(t, typ.Name(), reflect.ValueOf(m))
		}
		from, to, got, err := GroupFromProto(wire(t, GroupToProto("a#1", "b#2", m)))
		if err != nil || from != "a#1" || to != "b#2" || !reflect.DeepEqual(got, m) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, m)
		}
	}
	all := []group.Seen{{Name: "g", Roster: aRoster, Failed: []int{1}, Left: []int{2}, Revoked: &aRevocation, Sent: 4}, {Name: "h", Roster: aRoster}}
	complete(t, "Seen", reflect.ValueOf(all[0]))
	if got, more, err := GroupsSeenFromProto(wire(t, GroupsSeenToProto(all, 5))); err != nil || more != 5 || !reflect.DeepEqual(got, all) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, all)
	}
}

// What no node sends is refused, and nothing panics.
func TestBadGroupLetters(t *testing.T) {
	bad := func(i int, change func(*GroupLetter)) *GroupLetter {
		l := proto.CloneOf(GroupToProto("a#1", "b#2", groupLetters[i]))
		change(l)
		return l
	}
	for name, l := range map[string]*GroupLetter{
		"nothing":            {From: "a#1", To: "b#1"},
		"no sender":          bad(0, func(l *GroupLetter) { l.From = "" }),
		"a rank too high":    bad(0, func(l *GroupLetter) { l.GetContribute().Parts[0].Rank = 1 << 20 }),
		"no purpose":         bad(0, func(l *GroupLetter) { l.GetContribute().Parts[0].Purpose = 0 }),
		"no such purpose":    bad(0, func(l *GroupLetter) { l.GetContribute().Parts[0].Purpose = 300 }),
		"no such op":         bad(0, func(l *GroupLetter) { l.GetContribute().Parts[0].Op = 99 }),
		"a member twice":     bad(0, func(l *GroupLetter) { l.GetContribute().Roster.Members[1] = l.GetContribute().Roster.Members[0] }),
		"no members":         bad(0, func(l *GroupLetter) { l.GetContribute().Roster.Members = nil }),
		"no decision":        bad(4, func(l *GroupLetter) { l.GetPropose().Decision = nil }),
		"no group of a grow": bad(4, func(l *GroupLetter) { d := l.GetPropose().Decision; d.Roster, d.Mismatch = nil, "" }),
		"half a hop":         bad(9, func(l *GroupLetter) { r := l.GetTell().GetRevoke(); r.Hops = r.Hops[:3] }),
		"no revocation":      bad(9, func(l *GroupLetter) { l.GetTell().GetRevoke().Revocation = nil }),
		"no news":            bad(9, func(l *GroupLetter) { l.GetTell().News = nil }),
		"no roster":          bad(11, func(l *GroupLetter) { l.GetTell().GetInvite().Roster = nil }),
	} {
		if _, _, m, err := GroupFromProto(l); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}
