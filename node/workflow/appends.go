package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// appendsMost is how many bytes of Appends may be on their way to the disks. It is half of what the ledger takes (workflow
// specification 3.9), which so refuses none as busy: those behind a refused one would leave a gap. Further Appends wait here; the
// controller takes no starts, and its executors' reports wait, while there are too many.
const appendsMost = 8 << 20

// appends are the Appends of a tenure, in their order.
type appends struct {
	waiting []Append
	under   []Append // way to the disks
	bytes   int      // of these
}

// appendSize is how many bytes an Append has in the ledger, at most.
func appendSize(a Append) int {
	size := 64
	for _, r := range a.Rows {
		size += rowSize(r)
	}
	return size
}

func rowSize(r ledger.Row) int { return 16 + len(r.Key) + len(r.End) + len(r.Value) }

// append appends rows once those before are on their way, and there is room for these.
func (t *Tenure) append(a Append) {
	t.appends.waiting = append(t.appends.waiting, a)
	t.appendMore()
}

func (t *Tenure) appendMore() {
	q := &t.appends
	for len(q.waiting) > 0 {
		a := q.waiting[0]
		size := appendSize(a)
		if len(q.under) > 0 && q.bytes+size > appendsMost {
			return
		}
		q.waiting[0] = Append{}
		q.waiting = q.waiting[1:]
		q.under = append(q.under, a)
		q.bytes += size
		t.emit(a)
	}
}

// appended takes that the Appends up to a number are durable.
func (t *Tenure) appended(number uint64) {
	q := &t.appends
	for len(q.under) > 0 && q.under[0].Number <= number {
		q.bytes -= appendSize(q.under[0])
		q.under[0] = Append{}
		q.under = q.under[1:]
	}
	t.appendMore()
}

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
