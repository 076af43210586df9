package directory

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// The effects and records print themselves for scripts and traces. A number
// that names its epoch prints as "epoch.sequence".

func epochal(n uint64) string { return fmt.Sprintf("%d.%d", n>>32, uint32(n)) }

func short(d phalanx.Digest) string { return d.String()[:8] }

func named(id phalanx.ObjectID, g phalanx.Generation) string {
	if g.IsZero() {
		return string(id)
	}
	return fmt.Sprintf("%s@%v", id, g)
}

// String returns, for example, "r1 #4 x: begun 1.1, 3 bytes; lease 1.1 from s".
func (r Reply) String() string { return fmt.Sprintf("%s #%d %s: %v", r.To, r.Num, r.Object, r.Result) }

// String returns r without the name of its object.
func (r Result) String() string {
	var b strings.Builder
	switch {
	case r.NotOwner:
		return "not the owner"
	case r.Kind != 0:
		fmt.Fprintf(&b, "%v (%s); ", r.Kind, r.Text)
	case r.Waiting:
		b.WriteString("waits; ")
	}
	if r.List != nil {
		ids := make([]string, len(r.List))
		for i, s := range r.List {
			ids[i] = fmt.Sprintf("%s %v", s.Object, s.State)
		}
		return b.String() + "[" + strings.Join(ids, ", ") + "]"
	}
	b.WriteString(r.State.String())
	if r.State != Unbound && !r.Gen.IsZero() {
		fmt.Fprintf(&b, " %v", r.Gen)
		if r.State != Deleted {
			fmt.Fprintf(&b, ", %s", describe(r.Meta))
		}
	}
	if r.Kind == phalanx.ErrDeleted && r.Deleted != r.Gen {
		fmt.Fprintf(&b, ", %v was deleted and %v released", r.Deleted, r.Gen)
	}
	if !r.Digest.IsZero() {
		fmt.Fprintf(&b, ", digest %s", short(r.Digest))
	}
	if r.Inline != nil {
		fmt.Fprintf(&b, ", inline %q", r.Inline)
	} else if r.IsInline {
		b.WriteString(", inline")
	}
	if r.Tag != "" {
		fmt.Fprintf(&b, ", made by %q", r.Tag)
	}
	if r.Listed != 0 {
		b.WriteString(", listed")
	}
	if len(r.Note) > 0 {
		fmt.Fprintf(&b, ", note %q", r.Note)
	}
	if r.Attached != "" {
		fmt.Fprintf(&b, "; made by %s", r.Attached)
	}
	if r.Lease != 0 {
		fmt.Fprintf(&b, "; lease %s from %s", epochal(r.Lease), r.Sender)
		if r.Beside {
			b.WriteString(", beside a slow one")
		}
	}
	if r.Stat != nil {
		fmt.Fprintf(&b, "; holders %v waiting %v", r.Stat.Holders, r.Stat.Waiting)
	}
	return b.String()
}

// String returns, for example, "r1 complete, pinned" or "r2 partial from r1".
func (h HolderStat) String() string {
	var b strings.Builder
	b.WriteString(string(h.Node) + " partial")
	if h.Complete {
		b.Reset()
		b.WriteString(string(h.Node) + " complete")
	}
	if h.Pinned {
		b.WriteString(", pinned")
	}
	if h.Origin {
		b.WriteString(", origin")
	}
	if h.Upstream != "" {
		fmt.Fprintf(&b, " from %s", h.Upstream)
	}
	return b.String()
}

// String returns the order of p and its receiver.
func (p Push) String() string {
	return fmt.Sprintf("push %s to %s: %v %s", epochal(p.Seq), p.To, p.Order, named(p.Object, p.Gen))
}

// String returns the message to a watcher.
func (r Readiness) String() string {
	var ready []string
	for _, l := range r.Ready {
		c := "P"
		if l.Complete {
			c = "C"
		}
		ready = append(ready, fmt.Sprintf("%s:%s", l.Node, c))
	}
	s := fmt.Sprintf("tell %s #%d version %d.%d: %s %v, ready {%s}", r.To, r.Num, r.Version>>32, r.Version&(1<<32-1), named(r.Object, r.Gen), r.State, strings.Join(ready, ", "))
	if r.Inline {
		s += ", inline"
	}
	if r.State == Begun && len(ready) > 0 {
		s += fmt.Sprintf(", %d bytes", r.Meta.Size)
	}
	return s
}

// String returns the range of the stream that e carries.
func (e SendReplicate) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replicate to %s in epoch %d, stream %d, from %d:", e.To, e.Epoch, e.Stream, e.First)
	for _, c := range e.Changes {
		fmt.Fprintf(&b, " %v", c)
	}
	return b.String()
}

// String returns the record's state, or "end" of the snapshot.
func (c Change) String() string {
	switch {
	case c.Rebuilding:
		return "end, and is rebuilt"
	case c.End:
		return "end"
	}
	return fmt.Sprintf("[%v]", c.Record)
}

// String returns, for example, "x final 1.1 by s".
func (r Record) String() string {
	s := fmt.Sprintf("%s %v", r.Object, r.State)
	if !r.Gen.IsZero() {
		s += " " + r.Gen.String()
	}
	if r.Origin != "" {
		s += fmt.Sprintf(" by %s", r.Origin)
	}
	if r.Inline {
		s += fmt.Sprintf(" inline %q", r.Bytes)
	}
	if r.Copies > 1 {
		s += fmt.Sprintf(" copies %d", r.Copies)
	}
	if len(r.Evicted) > 0 {
		s += fmt.Sprintf(" evicted %v", r.Evicted)
	}
	return s
}

// String returns how far a replica is.
func (e SendConfirm) String() string {
	return fmt.Sprintf("confirm to %s in epoch %d, stream %d, up to %d", e.To, e.Epoch, e.Stream, e.Seq)
}

// String returns a line for e.
func (e AckHoldings) String() string { return fmt.Sprintf("holdings of %s taken", e.To) }

// String returns a line for e.
func (e AskLease) String() string {
	if e.Move {
		return fmt.Sprintf("move %s away from lease %s of %s", e.To, epochal(e.Lease), e.Object)
	}
	return fmt.Sprintf("ask %s about lease %s of %s", e.To, epochal(e.Lease), e.Object)
}

// String returns a line for e.
func (e CaughtUp) String() string {
	return fmt.Sprintf("%s has caught up in epoch %d", e.Node, e.Epoch)
}

// String returns a line for e.
func (e LostState) String() string { return fmt.Sprintf("has lost its state, epoch %d", e.Epoch) }

// String returns a line for e.
func (e Warm) String() string { return fmt.Sprintf("warm in epoch %d", e.Epoch) }

// String returns a line for e.
func (e ObjectReplaced) String() string {
	return fmt.Sprintf("replaced: %s %v by %v", e.Object, e.Old, e.Gen)
}

// String returns a line for e.
func (e ObjectLost) String() string { return fmt.Sprintf("lost: %s", named(e.Object, e.Gen)) }
