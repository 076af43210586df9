package directory_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// TestScripts replays testdata/*; run with -rewrite, then read the diff.
//
// A script drives the replicas of one shard that are wired together. While
// "auto" is on, replication is delivered at once; otherwise "confirm" delivers
// it. Requests go to the owner. Replication shows only with "trace on".
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			w := newWorld()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				w.out.Reset()
				w.run(script{t, d})
				if w.out.Len() == 0 {
					return "ok\n"
				}
				return w.out.String()
			})
		})
	}
}

// wired is a replication message that was not delivered yet.
type wired struct {
	to phalanx.NodeID
	ev directory.Event
}

// world is the replicas of one shard on a network.
type world struct {
	cfg      directory.Config
	now      time.Duration
	view     directory.Configure
	replicas map[phalanx.NodeID]*directory.Shard
	order    []phalanx.NodeID // of replicas
	cutOff   map[phalanx.NodeID]bool
	auto     bool
	trace    bool
	wire     []wired
	nums     map[phalanx.NodeID]uint64
	pushes   []directory.Push // the newest to each node and object
	limit    int              // of the weight of a record or an order that can be sent; 0: any
	failed   []wired          // effects that cannot be sent, at whom
	out      strings.Builder
}

func newWorld() *world {
	return &world{auto: true, replicas: map[phalanx.NodeID]*directory.Shard{}, cutOff: map[phalanx.NodeID]bool{}, nums: map[phalanx.NodeID]uint64{}}
}

func (w *world) run(s script) {
	switch s.d.Cmd {
	case "new":
		w.cfg = directory.Config{InlineLimit: s.int("inline", 0), Fanout: int(s.int("fanout", 0))}
		w.view.Members = s.nodes("members")
		for _, n := range w.view.Members {
			w.join(n)
		}
		w.view.Epoch, w.view.Owner, w.view.Backup = 1, w.view.Members[0], w.view.Members[min(1, len(w.view.Members)-1)]
		if len(w.view.Members) == 1 {
			w.view.Backup = ""
		}
		w.configure()
		for _, n := range w.view.Members {
			w.holdings(n, nil, true)
		}
	case "view":
		w.reconfigure(s)
	case "auto":
		w.auto = s.has("on")
	case "limit":
		w.limit = int(s.int("bytes", 0))
	case "trace":
		w.trace = s.has("on")
	case "confirm":
		w.deliver()
	case "only": // what is on the wire to one replica arrives, the rest is lost
		wire := w.wire
		w.wire = nil
		for _, m := range wire {
			if m.to == phalanx.NodeID(s.word(0)) {
				w.step(m.to, m.ev)
			}
		}
	case "lose":
		w.wire = nil
	case "crash": // a node is gone; a view will follow
		delete(w.replicas, phalanx.NodeID(s.word(0)))
	case "forget": // a replica's actor panics
		n := phalanx.NodeID(s.word(0))
		cfg := w.cfg
		cfg.Self, cfg.LostIn = n, w.view.Epoch
		w.replicas[n] = directory.New(cfg)
		w.step(n, w.view)
		w.leases()
	case "cut": // a node hears from no majority
		w.cutOff[phalanx.NodeID(s.word(0))] = true
		w.now += time.Second
		w.leases()
	case "mend":
		delete(w.cutOff, phalanx.NodeID(s.word(0)))
		w.leases()
	case "tick":
		w.now += s.duration(s.word(0))
		w.leases()
		for _, n := range w.order {
			w.step(n, directory.Tick{})
			if r := w.replicas[n]; r != nil {
				if o := r.Overslept(); o != "" {
					s.t.Fatalf("a tick has left out %s", o)
				}
			}
		}
	case "holdings":
		var hs []directory.Holding
		if len(s.d.CmdArgs) > 1 && !s.has("none") {
			hs = append(hs, s.holding())
		}
		n := phalanx.NodeID(s.word(0))
		w.holdingsBefore(n, hs, !s.has("more"), uint64(s.int("before", int64(w.nums[n]+1))))
	case "ack":
		w.ack(phalanx.NodeID(s.word(0)), phalanx.ObjectID(s.word(1)))
	case "seen":
		w.step(w.view.Owner, directory.WatchAcked{From: phalanx.NodeID(s.word(0)), Object: phalanx.ObjectID(s.word(1)),
			Num: uint64(s.int("num", 0)), Version: w.view.Epoch<<32 + uint64(s.int("version", 0))})
	case "known", "unknown":
		w.step(w.view.Owner, directory.LeaseKnown{From: phalanx.NodeID(s.word(0)), Object: phalanx.ObjectID(s.word(1)),
			Lease: s.lease("lease"), Known: s.d.Cmd == "known"})
	case "dir":
		w.directory(phalanx.ObjectID(s.word(0)))
	case "records":
		w.records(phalanx.ObjectID(s.word(0)))
	default:
		w.request(s)
	}
	if w.auto {
		w.deliver()
	}
}

func (w *world) join(n phalanx.NodeID) {
	if w.replicas[n] == nil {
		cfg := w.cfg
		cfg.Self = n
		w.replicas[n] = directory.New(cfg)
		w.order = append(w.order, n)
	}
	w.leases()
}

// leases prolongs the leases of everyone who is not cut off.
func (w *world) leases() {
	for _, n := range w.order {
		if !w.cutOff[n] {
			w.step(n, directory.Lease{Until: w.now + 300*time.Millisecond})
		}
	}
}

func (w *world) configure() {
	for _, n := range w.order {
		if slices.Contains(w.view.Members, n) {
			w.step(n, w.view)
		}
	}
}

func (w *world) reconfigure(s script) {
	w.view.Number++
	if s.has("members") {
		w.view.Members = s.nodes("members")
	}
	if s.has("leaving") {
		w.view.Leaving = s.nodes("leaving")
	}
	w.view.Leaving = slices.DeleteFunc(w.view.Leaving, func(n phalanx.NodeID) bool { return !slices.Contains(w.view.Members, n) })
	for _, n := range w.view.Members {
		w.join(n)
	}
	w.view.Epoch = uint64(s.int("epoch", int64(w.view.Epoch)))
	if s.has("rebuild") {
		w.view.LostAt = w.view.Epoch
	}
	for key, field := range map[string]*phalanx.NodeID{"owner": &w.view.Owner, "backup": &w.view.Backup, "next": &w.view.Next} {
		if s.has(key) {
			*field = phalanx.NodeID(strings.TrimPrefix(s.str(key), "-"))
		}
	}
	if at := phalanx.NodeID(s.str("at")); at != "" { // the others hear of it later
		w.step(at, w.view)
		return
	}
	w.configure()
}

func (w *world) request(s script) {
	body := s.body()
	r := directory.Request{From: phalanx.NodeID(s.word(0)), Body: body, Epoch: uint64(s.int("epoch", 0))}
	if s.d.Cmd != "list" {
		r.Object = phalanx.ObjectID(s.word(1))
	}
	w.nums[r.From]++
	if r.Num = uint64(s.int("num", 0)); r.Num == 0 {
		r.Num = w.nums[r.From]
	}
	w.nums[r.From] = max(w.nums[r.From], r.Num)
	at := w.view.Owner
	if a := s.str("at"); a != "" {
		at = phalanx.NodeID(a)
	}
	w.step(at, r)
}

func (w *world) holdings(from phalanx.NodeID, hs []directory.Holding, end bool) {
	w.holdingsBefore(from, hs, end, w.nums[from]+1)
}

// holdingsBefore has a node tell what it saw before it sent its request number before.
func (w *world) holdingsBefore(from phalanx.NodeID, hs []directory.Holding, end bool, before uint64) {
	w.step(w.view.Owner, directory.Holdings{From: from, Epoch: w.view.Epoch, Before: before, Holdings: hs, End: end})
	if w.auto {
		w.deliver()
	}
}

func (w *world) ack(from phalanx.NodeID, id phalanx.ObjectID) {
	for _, p := range w.pushes {
		if p.To == from && p.Object == id {
			w.step(w.view.Owner, directory.PushAcked{From: from, Object: id, Seq: p.Seq})
		}
	}
}

func (w *world) deliver() {
	for len(w.wire) > 0 {
		m := w.wire[0]
		w.wire = w.wire[1:]
		w.step(m.to, m.ev)
	}
}

func (w *world) step(n phalanx.NodeID, ev directory.Event) {
	r := w.replicas[n]
	if r == nil {
		return
	}
	for _, e := range r.Step(w.now, ev) {
		if w.limit > 0 && weight(e) > w.limit {
			w.failed = append(w.failed, wired{n, directory.Unsendable{Effect: e, Text: "it is too long"}})
			continue
		}
		w.carryOut(n, e)
	}
	for len(w.failed) > 0 {
		f := w.failed[0]
		w.failed = w.failed[1:]
		w.step(f.to, f.ev)
	}
}

// weight returns how long an effect is that a script can make too long.
func weight(e directory.Effect) (n int) {
	switch e := e.(type) {
	case directory.SendReplicate:
		for _, c := range e.Changes {
			n += c.Weight()
		}
	case directory.Push:
		n = 400 * len(e.Meta.Shape)
	case directory.Readiness:
		n = len(e.Bytes)
	}
	return n
}

func (w *world) carryOut(at phalanx.NodeID, e directory.Effect) {
	switch e := e.(type) {
	case directory.SendReplicate:
		w.wire = append(w.wire, wired{e.To, e.Replicate})
		if !w.trace {
			return
		}
	case directory.SendConfirm:
		w.wire = append(w.wire, wired{e.To, e.Confirm})
		if !w.trace {
			return
		}
	case directory.AckHoldings:
		if !w.trace {
			return
		}
	case directory.Push:
		w.pushes = slices.DeleteFunc(w.pushes, func(p directory.Push) bool { return p.To == e.To && p.Object == e.Object })
		w.pushes = append(w.pushes, e)
	}
	if at != w.view.Owner || w.trace {
		fmt.Fprintf(&w.out, "%s: ", at)
	}
	fmt.Fprintln(&w.out, e)
}

// directory prints the locations that can be handed out, the copies that
// cannot, and the transfers that run: the columns of the paper's figure 4.
func (w *world) directory(id phalanx.ObjectID) {
	p, _ := w.replicas[w.view.Owner].Inspect(id)
	leased := map[phalanx.NodeID]int{}
	for _, l := range p.Leases {
		if !l.Slow {
			leased[l.Sender]++
		}
	}
	var free, busy, running []string
	for _, h := range p.Holders {
		name := fmt.Sprintf("%s:P", h.Node)
		if h.Complete {
			name = fmt.Sprintf("%s:C", h.Node)
		}
		if leased[h.Node] < max(1, w.cfg.Fanout) && flows(p.Holders, h) {
			free = append(free, name)
		} else {
			busy = append(busy, name)
		}
	}
	for _, l := range p.Leases {
		running = append(running, fmt.Sprintf("%s→%s", l.Sender, l.Receiver))
	}
	fmt.Fprintf(&w.out, "%s %v {%s}", id, p.State, strings.Join(free, ", "))
	if len(busy) > 0 {
		fmt.Fprintf(&w.out, " not free {%s}", strings.Join(busy, ", "))
	}
	if len(running) > 0 {
		fmt.Fprintf(&w.out, " transfers %s", strings.Join(running, ", "))
	}
	fmt.Fprintln(&w.out)
}

// flows reports whether h's bytes come from a complete copy or the origin.
func flows(all []directory.HolderStat, h directory.HolderStat) bool {
	for range all {
		if h.Complete || h.Origin {
			return true
		}
		i := slices.IndexFunc(all, func(s directory.HolderStat) bool { return s.Node == h.Upstream })
		if i < 0 {
			return false
		}
		h = all[i]
	}
	return false
}

// records prints the durable state at each replica that has a role.
func (w *world) records(id phalanx.ObjectID) {
	for _, n := range w.order {
		if r := w.replicas[n]; r != nil {
			if p, ok := r.Inspect(id); ok {
				fmt.Fprintf(&w.out, "%s: %v\n", n, p.Record)
			}
		}
	}
	if w.out.Len() == 0 {
		fmt.Fprintln(&w.out, "none")
	}
}
