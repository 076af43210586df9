package transfer

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// The effects print themselves for scripts and traces.

func size(n int64) string {
	if n == phalanx.UnknownSize {
		return "an unknown number of bytes"
	}
	return fmt.Sprintf("%d bytes", n)
}

func short(d phalanx.Digest) string { return d.String()[:8] }

func lease(n uint64) string { return fmt.Sprintf("%d.%d", n>>32, uint32(n)) }

// words joins those words whose flag is set.
func words(pairs ...any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			b.WriteString(" " + pairs[i].(string))
		}
	}
	return b.String()
}

// String returns a line for e.
func (e Locate) String() string {
	s := fmt.Sprintf("#%d locate, room %d%s", e.Num, e.Room, words("and wait", e.Wait))
	if e.Failed != 0 {
		s += fmt.Sprintf(", since lease %s has failed", lease(e.Failed))
	}
	return s
}

// String returns a line for e.
func (e Cancel) String() string { return fmt.Sprintf("cancel #%d", e.Num) }

// String returns a line for e.
func (e ReportDone) String() string {
	s := fmt.Sprintf("#%d report lease %s done, %v%s", e.Num, lease(e.Lease), e.Gen, words("complete", e.Complete))
	if e.Rate != 0 {
		s += fmt.Sprintf(", %d bytes/s", e.Rate)
	}
	return s
}

// String returns a line for e.
func (e ReportFailed) String() string {
	return fmt.Sprintf("#%d report lease %s failed: %s", e.Num, lease(e.Lease), e.Reason)
}

// String returns a line for e.
func (e ReportCorrupt) String() string {
	return fmt.Sprintf("#%d report %v corrupt, its digest is %s", e.Num, e.Gen, short(e.Digest))
}

// String returns a line for e.
func (e ReportDrop) String() string { return fmt.Sprintf("#%d report %v dropped", e.Num, e.Gen) }

// String returns a line for e.
func (e Announce) String() string {
	return fmt.Sprintf("#%d announce %v%s", e.Num, e.Gen,
		words("complete", e.Complete, "pinned", e.Pinned, "origin", e.Origin, "begun", e.Begun, "retiring", e.Retiring))
}

// String returns a line for e.
func (e Reserve) String() string {
	if e.Bytes == phalanx.UnknownSize {
		return "reserve the next step"
	}
	return fmt.Sprintf("reserve %d bytes", e.Bytes)
}

// String returns a line for e.
func (e Open) String() string {
	return fmt.Sprintf("open stream %d of %v from %s under lease %s, %s%s", e.Stream, e.Gen, e.Sender, lease(e.Lease), size(e.Meta.Size),
		words("beside a slow one", e.Beside, "checked by it first", e.Checked))
}

// String returns a line for e.
func (e Supply) String() string { return fmt.Sprintf("take the rest of %v from the put", e.Gen) }

// String returns a line for e.
func (e Close) String() string { return fmt.Sprintf("close stream %d", e.Stream) }

// String returns a line for e.
func (e Clear) String() string { return fmt.Sprintf("clear what is before %v (%v)", e.Before, e.Kind) }

// String returns a line for e.
func (e TakeInline) String() string {
	return fmt.Sprintf("take the inline bytes of %v, digest %s", e.Gen, short(e.Digest))
}

// String returns a line for e.
func (e Complete) String() string {
	return fmt.Sprintf("complete: %v, %s, digest %s", e.Gen, size(e.Meta.Size), short(e.Digest))
}

// String returns a line for e.
func (Discard) String() string { return "discard" }

// String returns a line for e.
func (e Fail) String() string { return fmt.Sprintf("fail: %v", e.Err) }

// String returns a line for e.
func (e Refuse) String() string { return fmt.Sprintf("refuse caller %d: %v", e.Caller, e.Err) }

// String returns a line for e.
func (e SenderLost) String() string {
	return fmt.Sprintf("event: sender %s lost (%v) at %d", e.Sender, e.Why, e.Held)
}

// String returns a line for e.
func (e Resumed) String() string {
	return fmt.Sprintf("event: resumed %v from %s after %v", e.Gen, e.Sender, e.After)
}

// String returns a line for e.
func (e Bind) String() string {
	s := fmt.Sprintf("#%d begin, %s", e.Num, size(e.Meta.Size))
	if e.Copies > 1 {
		s += fmt.Sprintf(", %d copies", e.Copies)
	}
	if !e.Replace.IsZero() {
		s += fmt.Sprintf(", to replace %v", e.Replace)
	}
	if !e.After.IsZero() {
		s += fmt.Sprintf(", after %v", e.After)
	}
	return s
}

// String returns a line for e.
func (e BindInline) String() string {
	s := fmt.Sprintf("#%d put inline, %s, digest %s", e.Num, size(e.Meta.Size), short(e.Digest))
	if !e.Gen.IsZero() {
		s += fmt.Sprintf(", as %v", e.Gen)
	}
	if !e.After.IsZero() {
		s += fmt.Sprintf(", after %v", e.After)
	}
	return s
}

// String returns a line for e.
func (e Finish) String() string {
	return fmt.Sprintf("#%d final %v, %s, digest %s", e.Num, e.Gen, size(e.Meta.Size), short(e.Digest))
}

// String returns a line for e.
func (e Withdraw) String() string { return fmt.Sprintf("#%d abort %v", e.Num, e.Gen) }

// String returns a line for e.
func (Fill) String() string { return "fill" }

// String returns a line for e.
func (e Show) String() string { return fmt.Sprintf("show as %v", e.Gen) }

// String returns a line for e.
func (e AwaitCopies) String() string {
	return fmt.Sprintf("#%d await %d copies of %v", e.Num, e.Copies, e.Gen)
}

// String returns a line for e.
func (e Kept) String() string {
	return fmt.Sprintf("keep: %v, %s, digest %s", e.Gen, size(e.Meta.Size), short(e.Digest))
}

// String returns a line for e.
func (e Created) String() string {
	return fmt.Sprintf("created: %v, %s, digest %s%s", e.Gen, size(e.Meta.Size), short(e.Digest), words("(existed)", e.Existed))
}

// String returns a line for e.
func (e NotCreated) String() string { return fmt.Sprintf("not created: %v", e.Err) }
