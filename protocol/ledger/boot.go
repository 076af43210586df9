package ledger

import (
	"slices"
	"time"
)

// Boot decides who boots the view after a restart of everything (workflow specification 3.6).
// Each node that has a disk hosts one.
//
// A node is in a cluster while it holds a view lease. A node that is in none asks the addresses
// that its disk remembers, and seeds, whether their nodes are, and joins the first that is. If
// nobody is, the node of the ledger's leader records that it boots the next view, and then does: at
// the latest when nobody has been in a cluster for BootConfig.AloneAfter, and sooner when it knows
// that all addresses are quiet (quiet.go). So it takes a majority of the disks to boot a view, and
// a node that restarts alone waits. Views carry the number of their record. A node that hears of a
// greater number than its view's ends its incarnation: it belongs to a view that most of the
// disks have given up. If such a view lives on and no member of the recorded one does, as after a
// partition and a crash, the leader boots another one: else each would wait for the other.
//
// It guarantees that the node which the record of a number names boots the view of that number,
// at most once by each of its incarnations that recorded it, and numbers rise.
type Boot struct {
	cfg     BootConfig
	asksAll bool // none of the addresses was left out
	now     time.Duration
	out     []BootEffect

	awake  bool
	woke   time.Duration
	own    uint64 // the number of the own view; 0: the node was in none
	held   bool   // the node holds a lease
	lost   uint64 // the number of a view that never has a lease again: the greatest that is known
	lostAt time.Duration
	booted bool // BootView was said, and the view has no lease yet
	ended  bool // another incarnation of the node, with another Boot, follows
	seen   time.Duration
	asked  time.Duration
	quiet  map[string]quietSpan     // the addresses that are quiet, of those that it asks
	gone   map[string]time.Duration // when an address said last that its process was in no view, or refused
	joins  time.Duration            // when it was last told to join a cluster
	joined uint64                   // the number of that; 0: it was not
	top    uint64                   // the greatest number that was heard of
	leads  bool
	since  time.Duration // it leads
	record Record
	writes uint64 // the number that is being recorded, or of the view that is being booted; 0: none
}

// BootConfig is how a Boot behaves. The zero value of a field means the default.
type BootConfig struct {
	Node      string   // the own node's name, which survives its incarnations
	Addresses []string // of other nodes, that the disk remembers, and seeds; all replicas of the ledger, away or not

	AloneAfter  time.Duration // nobody was in a cluster for so long; 10 s
	QuietFor    time.Duration // all addresses were quiet for so long; 1 s
	AskEvery    time.Duration // 500 ms; while the node is in a cluster ten times that
	RecordedFor time.Duration // a new leader waits so long for the recorded node's answer; 2 s
}

// Record is the content of the ledger's row about views: the node that boots view Number.
type Record struct {
	Number  uint64 // 0: none was ever booted
	Node    string
	Address string
}

// maxAddresses bounds how many addresses a Boot asks.
const maxAddresses = 256

// BootEvent is everything that can happen to a Boot.
type BootEvent interface{ bootEvent() }

type (
	// BootTick says that the time of Due has come.
	BootTick struct{}

	// Heard brings what a node said about itself, asked or not.
	Heard struct {
		Address string
		Standing
	}

	// NotListening says that the host of Address has refused the connection of an Ask: no process
	// listens there. A connection that only takes too long is none of these.
	NotListening struct{ Address string }

	// Lease says whether the own node holds a view lease, and the number of its view.
	Lease struct {
		Held   bool
		Number uint64
	}

	// ViewLost says that the own view never has a lease again: the processes of most of its voters have ended. It is repeated as long as that is known.
	ViewLost struct{}

	// Known names addresses of nodes that are asked besides: those of the view of a member that lost its lease.
	Known struct{ Addresses []string }

	// Leads says that the own replica's tenure has begun, and what the ledger has recorded.
	Leads struct{ Record Record }

	// LeadsNoMore says that the tenure has ended. If a RecordBoot waits, its outcome is not known.
	LeadsNoMore struct{}

	// Recorded says that the append of a RecordBoot is Done.
	Recorded struct{ Number uint64 }
)

// Standing is what a node says about itself.
type Standing struct {
	InCluster bool   // it holds a lease
	Booting   bool   // it boots a view now, which has no lease yet
	Joining   bool   // it has heard of a cluster lately, and has no lease yet
	Lost      bool   // its last view never has a lease again
	Number    uint64 // of its last view, or of that which it boots; 0: it was in none since it began
}

// BootEffect is everything a Boot asks its host to do.
type BootEffect interface{ bootEffect() }

type (
	// Ask asks to bring the Standing of the node at Address, as Heard, or NotListening.
	Ask struct{ Address string }

	// Join asks to join the cluster of the node at Address. It is repeated until there is a lease.
	Join struct {
		Address string
		Number  uint64
	}

	// EndIncarnation asks to end this incarnation of the node, which may still be in a view, and
	// to begin another one, which joins the cluster of the node at Address.
	EndIncarnation struct {
		Address string
		Number  uint64
	}

	// RecordBoot asks to append the record, with the own address, to the ledger, in the tenure of the
	// last Leads.
	RecordBoot struct{ Record Record }

	// BootView asks to boot a view of that number. A node that was in a view before ends that
	// incarnation first.
	BootView struct{ Number uint64 }
)

func (BootTick) bootEvent()     {}
func (Heard) bootEvent()        {}
func (NotListening) bootEvent() {}
func (Lease) bootEvent()        {}
func (ViewLost) bootEvent()     {}
func (Known) bootEvent()        {}
func (Leads) bootEvent()        {}
func (LeadsNoMore) bootEvent()  {}
func (Recorded) bootEvent()     {}

func (Ask) bootEffect()            {}
func (Join) bootEffect()           {}
func (EndIncarnation) bootEffect() {}
func (RecordBoot) bootEffect()     {}
func (BootView) bootEffect()       {}

// NewBoot returns the Boot of a node's new incarnation. Of more than 256 addresses it asks the first.
func NewBoot(cfg BootConfig) *Boot {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&cfg.AloneAfter, 10*time.Second)
	set(&cfg.QuietFor, time.Second)
	set(&cfg.AskEvery, 500*time.Millisecond)
	set(&cfg.RecordedFor, 2*time.Second)
	all := cfg.Addresses
	cfg.Addresses = nil
	b := &Boot{cfg: cfg, asksAll: true, quiet: map[string]quietSpan{}, gone: map[string]time.Duration{}}
	b.know(all)
	return b
}

// know adds addresses to those that are asked.
func (b *Boot) know(addresses []string) {
	for _, a := range addresses {
		switch {
		case slices.Contains(b.cfg.Addresses, a):
		case len(b.cfg.Addresses) >= maxAddresses:
			b.asksAll = false
		default:
			b.cfg.Addresses = append(b.cfg.Addresses, a)
		}
	}
}

// Standing returns what the node says about itself to those that ask.
func (b *Boot) Standing() Standing {
	if b.writes > 0 && !b.held {
		return Standing{Booting: true, Number: b.writes}
	}
	joining := b.joined > b.lost && !b.held && b.now-b.joins < b.cfg.AloneAfter
	return Standing{InCluster: b.held, Joining: joining, Lost: b.own > 0 && b.own <= b.lost && !b.held, Number: b.own}
}

// Step applies ev and returns what the host must do, in that order.
func (b *Boot) Step(now time.Duration, ev BootEvent) []BootEffect {
	if b.ended {
		return nil
	}
	b.now = max(b.now, now)
	if !b.awake {
		b.awake, b.woke, b.seen, b.asked = true, b.now, b.now, b.now-b.askEvery()
	}
	switch ev := ev.(type) {
	case Heard:
		b.heard(ev)
	case NotListening:
		b.noteQuiet(ev.Address)
		b.noteEnded(ev.Address)
	case Lease:
		if b.held = ev.Held; b.held && ev.Number <= b.lost {
			b.lost = 0
		}
		b.own, b.top = max(b.own, ev.Number), max(b.top, ev.Number)
		if b.inCluster() || b.held && b.booted {
			b.writes, b.booted = 0, false
		}
		if ev.Number >= b.record.Number {
			b.seen = b.now // a lease that just ended counts like one that was heard of
		}
	case ViewLost:
		b.loses(b.own)
	case Known:
		b.know(ev.Addresses)
	case Leads:
		b.leads, b.since, b.record = true, b.now, ev.Record
		if !b.booted {
			b.writes = 0
		}
		b.top = max(b.top, ev.Record.Number)
		b.forgetOthers()
	case LeadsNoMore:
		b.leads = false
		if !b.booted {
			b.writes = 0
		}
	case Recorded:
		if ev.Number > b.record.Number {
			b.record = Record{Number: ev.Number, Node: b.cfg.Node}
		}
		if b.writes == ev.Number && ev.Number > 0 && !b.booted {
			b.booted, b.ended = true, b.own > 0
			b.emit(BootView(ev))
		}
	}
	if !b.ended {
		b.ask()
		b.decide()
	}
	out := b.out
	b.out = nil
	return out
}

func (b *Boot) emit(e BootEffect) { b.out = append(b.out, e) }

// heard takes up what another node says about itself.
func (b *Boot) heard(ev Heard) {
	b.top = max(b.top, ev.Number)
	if (ev.InCluster || ev.Booting) && ev.Number >= max(b.own, b.record.Number) {
		b.seen = b.now
	}
	switch {
	case ev.InCluster && ev.Number <= b.lost:
		b.lost = 0 // it is not
	case ev.Lost && !ev.InCluster && ev.Number > b.own: // a member judges for itself: another one may know an earlier view of that number, with other voters
		b.loses(ev.Number)
	}
	if ev.Number == 0 && !ev.InCluster {
		b.noteEnded(ev.Address)
	} else {
		b.noteGoesOn(ev)
	}
	if b.isQuiet(ev.Standing) {
		b.noteQuiet(ev.Address)
	} else {
		delete(b.quiet, ev.Address)
	}
	switch {
	case !ev.InCluster || ev.Number < b.record.Number:
	case b.own > 0 && ev.Number > b.own, b.booted && ev.Number > b.writes:
		b.ended = true
		b.emit(EndIncarnation{Address: ev.Address, Number: ev.Number})
	case ev.Number >= b.own && !b.held && !b.booted:
		b.writes = 0 // a record that is on its way is not acted on any more
		b.joined, b.joins = ev.Number, b.now
		b.emit(Join{Address: ev.Address, Number: ev.Number})
	}
}

// inCluster reports whether the node holds a lease in a view that, as far as it knows, the disks have not given up.
func (b *Boot) inCluster() bool { return b.held && b.own >= b.record.Number }

func (b *Boot) askEvery() time.Duration {
	if b.inCluster() {
		return 10 * b.cfg.AskEvery
	}
	return b.cfg.AskEvery
}

// ask asks all addresses from time to time. A node in a cluster does so too: another cluster may
// have been booted that is its successor.
func (b *Boot) ask() {
	if b.now-b.asked < b.askEvery() {
		return
	}
	b.asked = b.now
	for _, a := range b.addresses() {
		b.emit(Ask{Address: a})
	}
}

// addresses returns those that are asked: a leader asks the recorded node, too.
func (b *Boot) addresses() []string {
	all := b.cfg.Addresses
	if a := b.record.Address; b.leads && a != "" && b.recordsOther() && !slices.Contains(all, a) {
		all = append(slices.Clip(all), a)
	}
	return all
}

// recordsOther reports whether another node is recorded.
func (b *Boot) recordsOther() bool { return b.record.Number > 0 && b.record.Node != b.cfg.Node }

// boots returns when this node may record that it boots a view, if it stays as it is. A new leader
// first gives the recorded node the time to say that it is in a cluster, or boots one.
func (b *Boot) boots() (time.Duration, bool) {
	if !b.leads || b.inCluster() || b.writes > 0 {
		return 0, false
	}
	alone := b.seen + b.cfg.AloneAfter
	if b.held {
		return max(alone, b.since+b.cfg.AloneAfter), true
	}
	if b.recordsOther() {
		alone = max(alone, b.since+b.cfg.RecordedFor)
	}
	since, ok := b.allQuiet()
	if !ok {
		return alone, true
	}
	since += b.cfg.QuietFor
	if b.recordsOther() && b.record.Address == "" { // it cannot be asked
		since = max(since, b.since+b.cfg.RecordedFor)
	}
	return min(alone, since), true
}

func (b *Boot) decide() {
	if at, ok := b.boots(); ok && b.now >= at {
		b.writes = b.top + 1
		b.emit(RecordBoot{Record: Record{Number: b.writes, Node: b.cfg.Node}})
	}
}

// Due returns when the Boot has to hear of the time again, at the latest.
func (b *Boot) Due() (time.Duration, bool) {
	if b.ended {
		return 0, false
	}
	if !b.awake {
		return 0, true
	}
	due := b.asked + b.askEvery()
	if at, ok := b.boots(); ok {
		due = min(due, at)
	}
	return due, true
}
