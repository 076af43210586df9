package view

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
)

// TestPlan2_3 lets arbitrary commands happen to the replicated state (hoplite,
// section 2.3) and compares what becomes of each shard with a record of who has
// its state.
func TestPlan2_3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 6).Draw(t, "shards")
		s := state{View: View{Cluster: "n0#1", Voters: []phalanx.NodeID{"n0#1"}, Shards: make([]Shard, shards)}}
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			cmd := drawCommand(t, s.View, &next)
			before := s
			kept := EncodeView(s.View)
			after, changed := s.apply(cmd)
			if string(EncodeView(before.View)) != string(kept) {
				t.Fatalf("%v changed a view that was published", cmd)
			}
			if changed != (after.View.Number == before.View.Number+1) || !changed && after.View.Number != before.View.Number {
				t.Fatalf("%v: changed is %v from view %d to %d", cmd, changed, before.View.Number, after.View.Number)
			}
			if _, again := after.apply(cmd); again && changed {
				t.Fatalf("%v has an effect twice: %v", cmd, after.View)
			}
			for i := range after.View.Shards {
				if err := follows(before.View, after.View, i, cmd); err != nil {
					t.Fatalf("%v: shard %d from %v to %v: %v", cmd, i, before.View.Shards[i], after.View.Shards[i], err)
				}
			}
			if err := relied(before.View, after.View, cmd); err != nil {
				t.Fatalf("%v: %v", cmd, err)
			}
			s = after
		}
		converges(t, s)
	})
}

func drawCommand(t *rapid.T, v View, next *int) Command {
	node := func() phalanx.NodeID {
		return phalanx.MakeNodeID(fmt.Sprintf("n%d", rapid.IntRange(0, max(*next-1, 0)).Draw(t, "node")), uint64(rapid.IntRange(1, 2).Draw(t, "life")))
	}
	shard := rapid.IntRange(-1, len(v.Shards)).Draw(t, "shard")
	var is Shard
	if shard >= 0 && shard < len(v.Shards) {
		is = v.Shards[shard]
	}
	epoch := is.Epoch - uint64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "stale"))
	switch what := rapid.SampledFrom([]string{"add", "add", "sync", "sync", "sync", "remove", "leave", "drop"}).Draw(t, "command"); {
	case what == "add" || len(v.Members) == 0:
		if rapid.Bool().Draw(t, "new") || *next == 0 {
			*next++
			return AddMember{Member: Member{ID: phalanx.MakeNodeID(fmt.Sprintf("n%d", *next-1), 1)}}
		}
		return AddMember{Member: Member{ID: node()}}
	case what == "sync":
		return InSync{Shards: []Synced{{Shard: shard, Epoch: epoch, Node: rapid.SampledFrom([]phalanx.NodeID{is.Next, is.Next, node()}).Draw(t, "who")}}}
	case what == "remove":
		return RemoveMember{Node: node(), HandedOver: uint64(rapid.IntRange(0, int(v.Number)).Draw(t, "as of"))}
	case what == "leave":
		return Leaving{Node: node()}
	default:
		return Drop{Shard: shard, Epoch: epoch, Node: rapid.SampledFrom([]phalanx.NodeID{is.Owner, is.Backup, is.Next, node()}).Draw(t, "who")}
	}
}

// follows says what is wrong with shard i of after, given what cmd may do.
func follows(before, after View, i int, cmd Command) error {
	old, s := before.Shards[i], after.Shards[i]
	if len(after.Members) == 0 {
		return nil
	}
	has := map[phalanx.NodeID]bool{old.Owner: true, old.Backup: true} // who has all that was acknowledged
	switch cmd := cmd.(type) {
	case InSync:
		for _, sync := range cmd.Shards {
			if sync.Shard == i && sync.Epoch == old.Epoch && sync.Node == old.Next {
				has[old.Next] = true
			}
		}
	case Drop:
		if cmd.Shard == i && cmd.Epoch == old.Epoch && (cmd.Node == old.Owner || cmd.Node == old.Backup) {
			delete(has, cmd.Node)
			delete(has, "")
		}
	}
	for id := range has {
		if !after.Has(id) {
			delete(has, id)
		}
	}
	dropped := false
	if d, ok := cmd.(Drop); ok {
		dropped = d.Shard == i && d.Epoch == old.Epoch && d.Node != "" && slices.Contains([]phalanx.NodeID{old.Owner, old.Backup, old.Next}, d.Node)
	}
	lost := len(has) == 0 && old.Owner != ""
	set := []phalanx.NodeID{s.Owner, s.Backup, s.Next}
	slices.Sort(set)
	set = slices.DeleteFunc(set, func(id phalanx.NodeID) bool { return id == "" })
	stays := s.Owner == old.Owner && s.Backup == old.Backup && (s.Next == old.Next || old.Next == "") && s.LostAt == old.LostAt && !dropped
	switch {
	case len(slices.Compact(slices.Clone(set))) != len(set):
		return fmt.Errorf("a node has two roles")
	case slices.ContainsFunc(set, func(id phalanx.NodeID) bool { return !after.Has(id) }):
		return fmt.Errorf("somebody is no member")
	case s.Owner == "":
		return fmt.Errorf("nobody owns it")
	case !lost && old.Owner != "" && !has[s.Owner]:
		return fmt.Errorf("the owner does not have its state")
	case s.Backup != "" && !has[s.Backup]:
		return fmt.Errorf("the backup does not have its state")
	case lost != (s.LostAt != old.LostAt), lost && s.LostAt != s.Epoch:
		return fmt.Errorf("it was lost: %v", lost)
	case stays && s.Epoch != old.Epoch, !stays && s.Epoch != old.Epoch+1:
		return fmt.Errorf("the epoch is wrong")
	case s.Backup == "" && s.Next == "" && len(after.Members) > 1:
		return fmt.Errorf("nobody is to become the backup")
	}
	return nil
}

// relied says what is wrong with after for members that hand over: none goes on the word
// of one that is gone, and each hears when it has to ask anew.
func relied(before, after View, cmd Command) error {
	remove, _ := cmd.(RemoveMember)
	gone, came, stay := 0, 0, 0
	for _, m := range before.Members {
		if !after.Has(m.ID) {
			gone++
		}
		if !m.Leaving {
			stay++
		}
	}
	for _, m := range after.Members {
		if !before.Has(m.ID) {
			came++
		}
	}
	lost := false
	for i, s := range after.Shards {
		lost = lost || i < len(before.Shards) && s.LostAt != before.Shards[i].LostAt
	}
	anew := lost || gone > 0 && remove.HandedOver == 0 || came > 0 && stay == 0 && len(before.Members) > 0
	switch {
	case gone > 0 && remove.HandedOver != 0 && before.Left > remove.HandedOver:
		return fmt.Errorf("it has handed over as of an older view than %d", before.Left)
	case anew != (after.Left == after.Number && before.Number != after.Number) || !anew && after.Left != before.Left:
		return fmt.Errorf("what is handed over counts since view %d", after.Left)
	}
	return nil
}

// converges has every Next catch up, and compares the end with the ranking as
// sorting finds it.
func converges(t *rapid.T, s state) {
	for round := 0; ; round++ {
		var done InSync
		for i, is := range s.View.Shards {
			if is.Next != "" {
				done.Shards = append(done.Shards, Synced{Shard: i, Epoch: is.Epoch, Node: is.Next})
			}
		}
		if len(done.Shards) == 0 {
			break
		}
		if round == 3 { // any backup, the first wanted, the second
			t.Fatalf("it takes more than three copies: %v", s.View)
		}
		s, _ = s.apply(done)
	}
	for i, is := range s.View.Shards {
		rank := slices.Clone(s.View.Members)
		slices.SortFunc(rank, func(m, n Member) int {
			if better(m, n, i) {
				return -1
			}
			return 1
		})
		want := Shard{Epoch: is.Epoch, LostAt: is.LostAt}
		if len(rank) > 0 {
			want.Owner = rank[0].ID
		}
		if len(rank) > 1 {
			want.Backup = rank[1].ID
		}
		if is != want {
			t.Fatalf("shard %d ends as %v, wanted is %v", i, is, want)
		}
	}
}

// TestRankSpreads says that rendezvous hashing gives every member its share.
func TestRankSpreads(t *testing.T) {
	const shards, members = 1024, 8
	var all []Member
	for i := range members {
		all = append(all, Member{ID: phalanx.MakeNodeID(fmt.Sprintf("node-%d", i), 0x1234)})
	}
	owns, backs := map[phalanx.NodeID]int{}, map[phalanx.NodeID]int{}
	moved := 0
	for i := range shards {
		owner, backup := wanted(all, i)
		owns[owner]++
		backs[backup]++
		if less, _ := wanted(all[1:], i); less != owner {
			moved++
		}
	}
	for _, m := range all {
		if o, b := owns[m.ID], backs[m.ID]; o < 90 || o > 166 || b < 90 || b > 166 { // 128 ± 3.6 σ
			t.Errorf("%s owns %d and backs up %d of %d shards", m.ID, o, b, shards)
		}
	}
	if moved != owns[all[0].ID] {
		t.Errorf("%d shards move when a member leaves that owned %d", moved, owns[all[0].ID])
	}
}
