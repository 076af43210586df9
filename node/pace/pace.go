package pace

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Limits define slow. A simulation needs other limits than a program: its objects are smaller.
type Limits struct {
	// Every is how often the host observes the speed of receivers.
	Every time.Duration
	// Window is how long a lease has to be slow, at least.
	Window time.Duration
	// Grain is the least number of bytes of a window, at the rate below which its lease
	// is slow: a few writes, since the write on its way does not count.
	Grain int64
	// Memory is how long the rate of a receiver serves for comparisons.
	Memory time.Duration
	// Burst is the least number of bytes of a short transfer, or of the first window
	// of another, that serves for comparisons: fewer may lie in the buffers of the kernels.
	Burst int64
	// Least is the least number of bytes of a transfer that is observed, by its sender and by its
	// receiver.
	Least int64
	// Downlink is the least number of bytes of a transfer that shows how fast its receiver is.
	Downlink int64
	// Repeat is how often the sender reports a receiver that stays slow: the owner may be
	// a new one.
	Repeat time.Duration
}

// Default are the limits of a program.
var Default = Limits{Every: 50 * time.Millisecond, Window: 100 * time.Millisecond, Grain: 1 << 20,
	Memory: time.Minute, Burst: 32 << 20, Least: 1 << 20, Downlink: 4 << 20, Repeat: time.Second}

// ratio is how many times slower a slow receiver is than the sender's fair rate.
const ratio = 4

// Pace decides which receivers are slow (specification 2.13). A sender's rate is the
// best at which it served another receiver in the last minute; the fair rate of a
// lease is an equal share of that among the running ones. A lease is slow if it took
// less than a quarter of its fair rate for a whole window in which the sender always
// had bytes for it. No lease is slow without another receiver to compare it with, or
// when all of several are.
//
// The host calls its methods with its lock held.
type Pace struct {
	limits Limits
	flows  []*Flow
	best   map[phalanx.NodeID]rated
	looked time.Duration
}

// rated is the best rate of a receiver, and when it was seen.
type rated struct {
	rate int64 // bytes per second
	at   time.Duration
}

// New returns a Pace that observes nothing yet.
func New(limits Limits) *Pace { return &Pace{limits: limits} }

// Flow is a stream to a receiver.
type Flow struct {
	To    phalanx.NodeID
	Lease Lease
	By    any // means nothing here: the host's stream

	since    time.Duration // the sender has always had bytes since then
	first    Sample        // at since
	from     time.Duration // the window's begin
	was      Sample        // at from
	rate     int64         // bytes per second in the last window
	measured bool          // that was a whole window, and the sender has had bytes since
	reported bool
	told     time.Duration // when it was reported last
}

// Sample is a reading of a Flow's meter.
type Sample struct {
	Sent    int64
	Waits   uint64
	Waiting bool // the sender has nothing to send
}

// Grace is how long a sender waits for its receiver to come back, or to report for itself, before it
// reports that a connection has broken: closing one is how a receiver ends a stream, too.
const Grace = 300 * time.Millisecond

// Lease names a lease. Two objects can be sent under leases of the same number.
type Lease struct {
	Object phalanx.ObjectID
	Num    uint64 // 0: there is none
}

// Leases has the last stream under each lease that a node sends under.
type Leases map[Lease]*Flow

// Begin notes a stream. It takes the place of an earlier one under its lease.
func (l Leases) Begin(f *Flow) {
	if f.Lease.Num != 0 {
		l[f.Lease] = f
	}
}

// End forgets a stream: one that broke only after Grace. It reports whether the receiver has begun
// no other under the lease: if the stream broke the sender reports the lease.
func (l Leases) End(f *Flow) (last bool) {
	if last = l[f.Lease] == f; last {
		delete(l, f.Lease)
	}
	return last
}

// Add begins to observe f, which has so many bytes to send, unless these are too few.
func (p *Pace) Add(f *Flow, bytes int64, now time.Duration, s Sample) {
	if bytes != phalanx.UnknownSize && bytes < p.limits.Least {
		return
	}
	f.since, f.first, f.from, f.was = now, s, now, s
	if len(p.flows) == 0 {
		p.looked = now
	}
	p.flows = append(p.flows, f)
}

// Remove ends the observation of f. A transfer whose windows were too short, or observed
// too late, can still show as a whole how fast its receiver is.
func (p *Pace) Remove(f *Flow, now time.Duration, s Sample) {
	i := slices.Index(p.flows, f)
	if i < 0 {
		return // it was too small
	}
	p.flows = slices.Delete(p.flows, i, i+1)
	if steady(f.first, s) && s.Sent-f.first.Sent >= p.limits.Burst && now > f.since {
		p.note(f.To, per(s.Sent-f.first.Sent, now-f.since), now)
	}
}

// Idle reports whether no stream is observed.
func (p *Pace) Idle() bool { return len(p.flows) == 0 }

// steady reports whether the sender always had bytes between two samples.
func steady(a, b Sample) bool { return !a.Waiting && !b.Waiting && a.Waits == b.Waits }

func per(bytes int64, d time.Duration) int64 {
	return int64(float64(bytes) / d.Seconds())
}

// note remembers the best rate of a receiver.
func (p *Pace) note(n phalanx.NodeID, rate int64, now time.Duration) {
	if p.best == nil {
		p.best = map[phalanx.NodeID]rated{}
	}
	if old, ok := p.best[n]; !ok || rate >= old.rate || now-old.at > p.limits.Memory {
		p.best[n] = rated{rate, now}
	}
}

// Observe samples all flows and returns the flows that it has just found slow.
func (p *Pace) Observe(now time.Duration, look func(*Flow) Sample) []*Flow {
	late := now-p.looked > 2*p.limits.Every // this node was held up itself
	p.looked = now
	var found []*Flow
	for _, f := range p.flows {
		s, took := look(f), now-f.from
		if !steady(f.first, s) {
			f.since, f.first = now, s
		}
		switch {
		case late || !steady(f.was, s):
			f.from, f.was, f.measured = now, s, false
		case took < p.limits.Window || took < p.enough(f, now):
		default:
			sent := s.Sent - f.was.Sent
			f.rate = per(sent, took)
			if f.measured || sent >= p.limits.Burst { // else much of it may still lie in the kernels
				p.note(f.To, f.rate, now)
			}
			f.from, f.was, f.measured = now, s, true
			found = append(found, f)
		}
	}
	if p.allSlow(now) {
		return nil
	}
	found = slices.DeleteFunc(found, func(f *Flow) bool { return f.reported && now-f.told < p.limits.Repeat || !p.isSlow(f, now) })
	for _, f := range found {
		f.reported, f.told = true, now
	}
	return found
}

// allSlow reports whether there are several receivers and all of them are slow: then
// the sender is.
func (p *Pace) allSlow(now time.Duration) bool {
	var slow []phalanx.NodeID
	for _, f := range p.flows {
		switch {
		case !f.measured:
		case !p.isSlow(f, now):
			return false
		case !slices.Contains(slow, f.To):
			slow = append(slow, f.To)
		}
	}
	return len(slow) > 1
}

func (p *Pace) isSlow(f *Flow, now time.Duration) bool { return f.rate < p.least(f, now) }

// enough returns how long a window of f has to be.
func (p *Pace) enough(f *Flow, now time.Duration) time.Duration {
	least := p.least(f, now)
	if least == 0 {
		return 0
	}
	return time.Duration(float64(p.limits.Grain) / float64(least) * float64(time.Second))
}

// least returns the rate below which f is slow: 0 without another receiver's rate to
// compare it with.
func (p *Pace) least(f *Flow, now time.Duration) int64 {
	best := int64(0)
	for n, r := range p.best {
		if n != f.To && now-r.at <= p.limits.Memory {
			best = max(best, r.rate)
		}
	}
	return best / int64(len(p.flows)) / ratio
}
