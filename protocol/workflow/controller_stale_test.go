package workflow

import (
	"errors"
	"maps"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// The disk may show a row a little after it is durable: calls that come meanwhile hear of the run's end all the same.
func TestAStaleRowIsReadAgain(t *testing.T) {
	d := started(t, "a")
	n, o := d.order()
	d.reports(n, o, small, "")
	stale := maps.Clone(d.rows)
	d.durable()
	fresh := d.rows
	d.rows = stale
	await := d.call(AwaitResult{ID: "r"})
	forget := d.call(ForgetRun{ID: "r"})
	cancel := d.call(CancelRun{ID: "r"})
	d.after(stalePause)
	d.waits(await)
	d.waits(forget)
	d.rows = fresh
	d.after(stalePause)
	if a := d.answer(await); a.Err != nil || a.Result == nil {
		t.Errorf("%+v", a)
	}
	d.durable()
	if err := d.answer(forget).Err; err != nil {
		t.Error(err)
	}
	if err := d.answer(cancel).Err; !errors.Is(err, phalanx.ErrClosed) && !errors.Is(err, phalanx.ErrDeleted) {
		t.Error(err)
	}
}

// A run that this version cannot read is Open for good: calls hear that in the end.
func TestARowThatStaysAsItIsCounts(t *testing.T) {
	d := newDesk(t, 2, map[string]RowValue{}, "n1")
	d.rows[idKey("r")] = Name{Run: UID{1, 1, 1}, State: Open}
	cancel := d.call(CancelRun{ID: "r"})
	for d.now < staleWait {
		d.waits(cancel)
		d.after(stalePause)
	}
	d.refuses(cancel, phalanx.ErrInternal, "cannot go on")
	if d.c.readAgain.Len() > 0 || len(d.c.looking) > 0 {
		t.Error("it is read for ever")
	}
}
