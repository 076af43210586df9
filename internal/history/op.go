package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Call is the kind of a call.
type Call int

// The calls. A Reduce is a Put of its target.
const (
	Put Call = iota
	Get
	Delete
	Stat
	Loss // no call: from Op.Begin on, the object may have no complete copy
)

var calls = [...]string{"put", "get", "delete", "stat", "loss"}

// String returns the name of c.
func (c Call) String() string { return calls[c] }

// Never is the End of an op that may take effect at any time.
const Never = time.Duration(math.MaxInt64)

// Op is one call and its outcome.
type Op struct {
	Call    Call
	Object  phalanx.ObjectID
	Node    string        // the caller's
	Begin   time.Duration // since the start of the history
	End     time.Duration // when the answer came; Never: none did
	Version string        // stands for the bytes: that a Put wrote, or that a Get returned
	Size    int64         // of a Put, in bytes; phalanx.UnknownSize if the caller did not say
	State   string        // the answer of a Stat: "begun", "final" or "lost"
	Outcome phalanx.Kind  // 0: success
	Stale   bool          // a Get that may return a deleted object

	doomed uint64 // the bit of a Put with ErrDeleted
	free   bool   // a Put that had failed before the end of this Get or Stat may have left a deleted id unbound
}

// String returns a line for people.
func (o Op) String() string {
	var b strings.Builder
	end := "…"
	if o.End != Never {
		end = fmt.Sprintf("%.6f", o.End.Seconds())
	}
	fmt.Fprintf(&b, "%.6f–%s %s %v", o.Begin.Seconds(), end, o.Node, o.Call)
	if o.Version != "" {
		fmt.Fprintf(&b, " %s", short(o.Version))
	}
	if o.State != "" {
		fmt.Fprintf(&b, " %s", o.State)
	}
	switch {
	case o.Call == Loss:
	case o.Outcome != 0:
		fmt.Fprintf(&b, ": %v", o.Outcome)
	case o.End == Never:
		b.WriteString(": no answer")
	default:
		b.WriteString(": ok")
	}
	if o.Stale {
		b.WriteString(" (may be stale)")
	}
	return b.String()
}

func short(version string) string { return version[:min(len(version), 12)] }

// prepare brings an op into the form of the model: none if the op proves nothing.
func prepare(o Op, all []Op) []Op {
	if o.Call != Put || o.Outcome != phalanx.ErrDeleted {
		o.doomed = 0
	}
	switch o.Call {
	case Put:
		switch o.Outcome {
		case 0:
		case phalanx.ErrDeleted: // it was there, and was deleted while the Put ran
			there := o
			there.Outcome = 0
			return []Op{there, o}
		case phalanx.ErrExists:
			if contended(o, all) {
				return nil
			}
		default:
			return []Op{unknown(o)}
		}
	case Delete:
		if o.Outcome != 0 {
			return []Op{unknown(o)}
		}
	case Get, Stat:
		switch o.Outcome {
		case 0, phalanx.ErrNotFound, phalanx.ErrDeleted:
			if o.End != Never {
				o.free = slices.ContainsFunc(all, func(p Op) bool { return p.Call == Put && p.Begin <= o.End && p.failed() })
				return []Op{o}
			}
		}
		return nil
	case Loss:
		o.End = Never
	}
	return []Op{o}
}

// unknown returns an op that takes effect at any time after it began, or never.
func unknown(o Op) Op {
	o.Outcome, o.End = 0, Never
	return o
}

// failed reports whether a Put may have bound the id without making it final.
func (o Op) failed() bool {
	return o.End == Never || o.Outcome != 0 && o.Outcome != phalanx.ErrExists && o.Outcome != phalanx.ErrDeleted
}

// contended reports whether a Put may have met another running one with other bytes,
// as its size is another.
func contended(o Op, all []Op) bool {
	return slices.ContainsFunc(all, func(p Op) bool {
		return p.Call == Put && p.Version != o.Version && p.Size != o.Size && p.Size >= 0 && o.Size >= 0 &&
			p.Begin <= o.End && (p.End >= o.Begin || p.failed())
	})
}

// byTime orders ops for people.
func byTime(a, b Op) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End)) }
