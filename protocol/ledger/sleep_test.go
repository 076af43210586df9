package ledger

import (
	"testing"
	"time"
)

// sleeping returns three replicas that sleep, of which 1 leads.
func sleeping(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, 3, Config{})
	b.quiet = true
	b.run(10 * time.Second)
	for _, m := range b.machines {
		if !m.asleep {
			t.Fatalf("replica %d is awake", m.id)
		}
	}
	b.log = nil
	return b
}

// A group without work sends two heartbeats every 5 s, and elects nobody.
func TestSleep(t *testing.T) {
	b := sleeping(t)
	b.run(time.Minute)
	if sent := len(of[Send](b, 0)); sent < 40 || sent > 52 {
		t.Errorf("a group that sleeps has sent %d messages in a minute", sent)
	}
	if l := b.leader(); l == nil || l.id != 1 || len(of[Lead](b, 0)) > 0 {
		t.Errorf("a group that sleeps has elected somebody: %v", of[Lead](b, 0))
	}
}

// A replica that is alone has nothing to wake for.
func TestSleepAlone(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.quiet = true
	b.run(10 * time.Second)
	if at, ok := b.machines[0].Due(); ok {
		t.Errorf("it wakes at %v", at)
	}
	b.log = nil
	b.append(Row{Key: "a", Value: []byte("1")})
	b.run(time.Second)
	if len(of[Done](b, 1)) != 1 {
		t.Error("it does not append")
	}
}

// An append and a read wake the group, and take no longer than else.
func TestWorkEndsTheSleep(t *testing.T) {
	b := sleeping(t)
	b.append(Row{Key: "a", Value: []byte("1")})
	b.step(b.machine(1), Read{ID: 7})
	b.run(100 * time.Millisecond)
	if len(of[Done](b, 1)) != 1 || len(of[Readable](b, 1)) != 1 {
		t.Errorf("%d appends and %d reads were answered", len(of[Done](b, 1)), len(of[Readable](b, 1)))
	}
	if b.machine(2).asleep || b.machine(3).asleep {
		t.Error("the followers sleep")
	}
}

// The view tells that the leader is gone, and the next one is elected at once. Without a view that
// takes 11 s.
func TestLeaderOfASleepingGroupDies(t *testing.T) {
	for name, c := range map[string]struct {
		told bool
		most time.Duration
	}{"its node left the view": {true, 100 * time.Millisecond}, "nobody says so": {false, 12 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			b := sleeping(t)
			b.kill(b.machine(1))
			if c.told {
				b.step(b.machine(2), Left{Replica: 1})
				b.step(b.machine(3), Left{Replica: 1})
			}
			b.run(c.most)
			if len(of[TenureBegan](b, 0)) != 1 {
				t.Errorf("there is no tenure after %v", c.most)
			}
		})
	}
}

// A follower that is woken wakes its leader, which stays the leader; if that is gone another one is elected.
func TestWake(t *testing.T) {
	b := sleeping(t)
	b.step(b.machine(3), Wake{})
	b.run(50 * time.Millisecond)
	for _, m := range b.machines {
		if m.asleep {
			t.Errorf("replica %d sleeps", m.id)
		}
	}
	b.run(5 * time.Second)
	if len(of[Lead](b, 0)) > 0 {
		t.Errorf("another leader was elected: %v", of[Lead](b, 0))
	}
	if !b.machine(3).asleep {
		t.Fatal("the group does not sleep again")
	}
	b.kill(b.machine(1))
	b.step(b.machine(2), Wake{})
	b.step(b.machine(3), Wake{})
	b.run(1200 * time.Millisecond)
	if len(of[TenureBegan](b, 0)) != 1 {
		t.Error("nobody leads although the leader is gone")
	}
}

// One follower that is woken wakes the other one, by its campaign.
func TestCampaignWakesASleepingFollower(t *testing.T) {
	b := sleeping(t)
	b.kill(b.machine(1))
	b.step(b.machine(3), Wake{})
	b.run(3 * time.Second)
	if len(of[TenureBegan](b, 0)) != 1 {
		t.Error("nobody leads although the leader is gone")
	}
}

// A sleeping leader that most do not answer leads no more, soon after the next heartbeat.
func TestSleepingLeaderIsCutOff(t *testing.T) {
	b := sleeping(t)
	b.cutOff(1)
	b.run(13 * time.Second)
	if len(of[TenureEnded](b, 1)) != 1 {
		t.Error("it has a tenure still")
	}
}

// A leader that sleeps hands over at once to a follower that was there.
func TestSleepingLeaderHandsOver(t *testing.T) {
	b := sleeping(t)
	b.step(b.machine(1), HandOver{To: []uint64{3}})
	b.run(200 * time.Millisecond)
	if began := of[TenureBegan](b, 0); len(began) != 1 || b.leader().id != 3 {
		t.Errorf("tenures: %v", began)
	}
}

// A group does not sleep while a replica is away, or lacks something.
func TestNoSleepWhileAReplicaIsAway(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.kill(b.machine(3))
	b.append(Row{Key: "a", Value: []byte("1")})
	b.quiet = true
	b.run(10 * time.Second)
	if b.machine(1).asleep {
		t.Fatal("the leader sleeps")
	}
	b.open(b.machine(3))
	b.run(10 * time.Second)
	if !b.machine(1).asleep || !b.machine(3).asleep || b.machine(3).applied != b.machine(1).applied {
		t.Error("it is back, and the group does not sleep")
	}
}
