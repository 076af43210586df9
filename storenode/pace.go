package storenode

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	// paceWindow is how long a lease has to be slow, at least.
	paceWindow = 100 * time.Millisecond
	// paceLate is how late a look may be: after that, this node was held up itself.
	paceLate = 2 * paceEvery
	// paceGrain is how much a window has to tell apart: the bytes of a few writes,
	// of which the one that is on its way is not counted.
	paceGrain = 1 << 20
	// paceMemory is how long a rate of a receiver is worth comparing with.
	paceMemory = time.Minute
	// paceBurst is what a short transfer, or the first window of another, must have
	// to be compared with: less may lie in the buffers of the kernels.
	paceBurst = 32 << 20
	// paceRepeat is how often a receiver is reported that stays slow: the owner
	// may be a new one.
	paceRepeat = time.Second
	// paceRatio is how much slower than a sender could send a slow receiver is.
	paceRatio = 4
)

// pace decides which receivers are slow (specification 2.13). What a sender can
// do is what it served another receiver with, in the last minute; what is free of
// that for a lease is its share among those that run. A lease is slow if it took
// less than a quarter of that for a whole window in which the sender always had
// bytes for it. Without another receiver to compare with none is, nor when all of
// several are.
//
// It is deterministic; its caller has the clock and a lock.
type pace struct {
	flows  []*flow
	best   map[phalanx.NodeID]rated
	looked time.Duration
}

// rated is the best rate of a receiver, and when it was seen.
type rated struct {
	rate int64 // bytes per second
	at   time.Duration
}

// flow is a stream under a lease.
type flow struct {
	to    phalanx.NodeID
	lease uint64
	of    *outflow

	since    time.Duration // the sender has always had bytes from here on
	first    sample        // then
	from     time.Duration // the window's begin
	was      sample        // then
	rate     int64         // bytes per second in the last window
	measured bool          // it was a whole one, and the sender has had bytes since
	reported bool
	told     time.Duration // when it was reported last
}

// sample is what a flow's meter shows.
type sample struct {
	sent    int64
	waits   uint64
	waiting bool // the sender has nothing to send
}

// add begins to observe f.
func (p *pace) add(f *flow, now time.Duration, s sample) {
	f.since, f.first, f.from, f.was = now, s, now, s
	if len(p.flows) == 0 {
		p.looked = now
	}
	p.flows = append(p.flows, f)
}

// remove ends that. A transfer whose windows were too short, or looked at too
// late, can still tell as a whole how fast its receiver is.
func (p *pace) remove(f *flow, now time.Duration, s sample) {
	i := slices.Index(p.flows, f)
	if i < 0 {
		return // it was too small
	}
	p.flows = slices.Delete(p.flows, i, i+1)
	if steady(f.first, s) && s.sent-f.first.sent >= paceBurst && now > f.since {
		p.note(f.to, per(s.sent-f.first.sent, now-f.since), now)
	}
}

// steady reports whether the sender always had bytes between two samples.
func steady(a, b sample) bool { return !a.waiting && !b.waiting && a.waits == b.waits }

func per(bytes int64, d time.Duration) int64 {
	return int64(float64(bytes) / d.Seconds())
}

// note remembers the best rate of a receiver.
func (p *pace) note(n phalanx.NodeID, rate int64, now time.Duration) {
	if p.best == nil {
		p.best = map[phalanx.NodeID]rated{}
	}
	if old, ok := p.best[n]; !ok || rate >= old.rate || now-old.at > paceMemory {
		p.best[n] = rated{rate, now}
	}
}

// observe looks at all flows and returns those that were found slow just now.
func (p *pace) observe(now time.Duration, look func(*flow) sample) []*flow {
	late := now-p.looked > paceLate
	p.looked = now
	var found []*flow
	for _, f := range p.flows {
		s, took := look(f), now-f.from
		if !steady(f.first, s) {
			f.since, f.first = now, s
		}
		switch {
		case late || !steady(f.was, s):
			f.from, f.was, f.measured = now, s, false
		case took < paceWindow || took < p.enough(f, now):
		default:
			sent := s.sent - f.was.sent
			f.rate = per(sent, took)
			if f.measured || sent >= paceBurst { // else much of it may still lie in the kernels
				p.note(f.to, f.rate, now)
			}
			f.from, f.was, f.measured = now, s, true
			found = append(found, f)
		}
	}
	if p.allSlow(now) {
		return nil
	}
	found = slices.DeleteFunc(found, func(f *flow) bool { return f.reported && now-f.told < paceRepeat || !p.isSlow(f, now) })
	for _, f := range found {
		f.reported, f.told = true, now
	}
	return found
}

// allSlow reports whether there are several receivers and all of them are slow:
// then it is the sender.
func (p *pace) allSlow(now time.Duration) bool {
	var slow []phalanx.NodeID
	for _, f := range p.flows {
		switch {
		case !f.measured:
		case !p.isSlow(f, now):
			return false
		case !slices.Contains(slow, f.to):
			slow = append(slow, f.to)
		}
	}
	return len(slow) > 1
}

func (p *pace) isSlow(f *flow, now time.Duration) bool { return f.rate < p.least(f, now) }

// enough returns how long a window of f has to be.
func (p *pace) enough(f *flow, now time.Duration) time.Duration {
	least := p.least(f, now)
	if least == 0 {
		return 0
	}
	return time.Duration(float64(paceGrain) / float64(least) * float64(time.Second))
}

// least returns the rate below which f is slow: 0 if nothing is known to compare
// it with.
func (p *pace) least(f *flow, now time.Duration) int64 {
	best := int64(0)
	for n, r := range p.best {
		if n != f.to && now-r.at <= paceMemory {
			best = max(best, r.rate)
		}
	}
	return best / int64(len(p.flows)) / paceRatio
}
