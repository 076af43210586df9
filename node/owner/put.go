package owner

import (
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// OfPut returns the message of a transfer.Creator's effect to the owner; false: there is none.
// bytes returns the bytes of a small object.
func OfPut(e transfer.CreatorEffect, bytes func() []byte) (Message, bool) {
	switch e := e.(type) {
	case transfer.Bind:
		return Message{How: Await, Num: e.Num, Body: directory.Begin{Meta: e.Meta, Maker: directory.ByPut, Copies: e.Copies, Replace: e.Replace, After: e.After}}, true
	case transfer.BindInline:
		return Message{How: Await, Num: e.Num, Body: directory.PutInline{Meta: e.Meta, Digest: e.Digest, Bytes: bytes(), Gen: e.Gen, After: e.After, Held: true, Copies: e.Copies}}, true
	case transfer.Finish:
		return Message{How: Await, Num: e.Num, Body: directory.Final{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Held: true}}, true
	case transfer.AwaitCopies:
		return Message{How: Await, Num: e.Num, Body: directory.AwaitCopies{Gen: e.Gen, Copies: e.Copies}}, true
	case transfer.Withdraw:
		return Message{How: Tell, Body: directory.Abort{Gen: e.Gen}}, true
	case transfer.Cancel:
		return cancel(e.Num), true
	case transfer.Announce:
		m := announce(e)
		if m.How == List { // the core does not ask for the answer
			m.How = Tell
		}
		return m, true
	}
	return Message{}, false
}
