package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx/protocol/retry"
)

// sureAgain are the pauses after which an AskSure is repeated that the ledger was too busy for.
var sureAgain = retry.Pauses{First: 10 * time.Millisecond, Most: time.Second}

// unsure are the AskSures that the ledger was too busy for.
type unsure struct {
	again  []AskSure
	at     time.Duration // when they are repeated
	refuse int           // how often one was refused since the last answer
}

// busy has an AskSure repeated.
func (t *Tenure) busy(number uint64) {
	u := &t.unsure
	if len(u.again) == 0 {
		u.refuse++
		u.at = t.now + sureAgain.After(u.refuse)
	}
	u.again = append(u.again, AskSure{Number: number})
}

// askAgain repeats the AskSures whose time has come.
func (t *Tenure) askAgain() {
	u := &t.unsure
	if len(u.again) == 0 || t.now < u.at {
		return
	}
	again := u.again
	u.again = nil
	for _, a := range again {
		t.emit(a)
	}
}
