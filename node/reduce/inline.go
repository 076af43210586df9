package reduce

import (
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Missing returns the first source whose bytes the host has to get, or -1.
func (c *Combine) Missing() int {
	for i, b := range c.Bytes {
		if b == nil {
			return i
		}
	}
	return -1
}

// Take takes the source i that the host has got. It returns false and the failure if that is another
// generation: the source starts over.
func (c *Combine) Take(i int, gen phalanx.Generation, bytes []byte) (Combined, bool) {
	if gen != c.Inputs[i].Gen {
		return c.fail(i, phalanx.ErrReset, fmt.Sprintf("the source has generation %v by now", gen)), false
	}
	if c.Bytes[i] = bytes; bytes == nil { // the source is empty
		c.Bytes[i] = []byte{}
	}
	return Combined{}, true
}

// Unread says that the host cannot get source i. The Reduce leaves that source out for a while.
func (c *Combine) Unread(i int, err error) Combined {
	kind := phalanx.ErrNotFound
	var known *phalanx.Error
	if errors.As(err, &known) {
		kind = known.Kind
	}
	return c.fail(i, kind, err.Error())
}

// OpFailed says that the op has failed on source i, which ends the Reduce.
func (c *Combine) OpFailed(i int, kind phalanx.Kind, text string) Combined {
	return c.answer(core.InlineFailed{Seq: c.Seq, Source: c.Inputs[i].Source, Op: true, Kind: kind, Text: text})
}

// Made brings the combination.
func (c *Combine) Made(bytes []byte, digest phalanx.Digest) Combined {
	done := c.answer(core.InlineDone{Seq: c.Seq, Size: int64(len(bytes)), Digest: digest})
	done.Bytes = bytes
	return done
}

func (c *Combine) fail(i int, kind phalanx.Kind, text string) Combined {
	return c.answer(core.InlineFailed{Seq: c.Seq, Source: c.Inputs[i].Source, Kind: kind, Text: text})
}

func (c *Combine) answer(ev core.Event) Combined {
	return Combined{Attempt: c.Attempt, Seq: c.Seq, Event: ev}
}
