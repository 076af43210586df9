package workflow

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A run that this version cannot read is Open for good, and not in memory: calls hear that.
func TestARunThatCannotBeRead(t *testing.T) {
	d := newDesk(t, 2, map[string]RowValue{}, "n1")
	d.rows[idKey("r")] = Name{Run: UID{1, 1, 1}, State: Open}
	d.refuses(d.call(CancelRun{ID: "r"}), phalanx.ErrInternal, "cannot go on")
}
