package workflow

import (
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// page answers a request with the rows that its page names, as they are recorded. They are read by the caller: a controller
// decides nothing by them.
func (t *Tenure) page(to phalanx.NodeID, reply Reply) {
	p := *reply.Answer.Page
	t.look([]Range{{Key: p.Key, End: p.End, Limit: p.Limit}}, func(raw []ledger.Row) {
		reply.Answer.Page = filled(p, raw)
		t.emit(Respond{To: to, Reply: reply})
	})
}

// filled returns a page with its rows. Keys end with the number of the row, in hexadecimal digits.
func filled(p core.Page, raw []ledger.Row) *core.Page {
	out := core.Page{}
	for _, r := range raw {
		n, err := strconv.ParseUint(r.Key[strings.LastIndexByte(r.Key, '/')+1:], 16, 64)
		if err != nil {
			continue // a later version has a row of another kind here
		}
		out.Rows = append(out.Rows, core.Recorded{Number: n, Bytes: r.Value})
		if len(raw) == p.Limit {
			out.Next = n + 1
		}
	}
	return &out
}
