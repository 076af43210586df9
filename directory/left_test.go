package directory

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// That one generation of an object could not be told of says nothing about the next.
func TestTheNextGenerationOfWhatWasLeftOutIsTold(t *testing.T) {
	now, out := time.Duration(0), &narrow{limit: 10_000}
	h := core.Holding{Object: "o", Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Tag: "t", Note: make([]byte, 20_000)}
	r := NewReporter("n", out, func() time.Duration { return now }, func() uint64 { return 1 }, func([]bool) [][]core.Holding { return [][]core.Holding{{h}} })
	r.Learn(view.View{Number: 1, Shards: []view.Shard{{Owner: "o", Epoch: 1}}})
	r.tell()
	now += time.Minute
	h.Gen.Seq, h.Note = 2, nil
	r.tell()
	if out.refused != 1 || len(out.sent) != 2 || len(out.sent[1].(core.Holdings).Holdings) != 1 {
		t.Errorf("%+v", out.sent)
	}
}
