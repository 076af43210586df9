package workflow

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// savingDesk returns a desk with three disks and a run whose only output is to be saved.
func savingDesk(t *testing.T) *desk {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2", "n3")
	for _, n := range []phalanx.NodeID{"n1", "n2", "n3"} {
		d.tells(n, Tell{Disk: "disk of " + string(n)})
	}
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a")})
	d.durable()
	n, o := d.order()
	d.reports(n, o, Output{Size: 1 << 20}, "")
	d.durable()
	return d
}

// writes returns which disks were asked to write since the last call, without repeats.
func writes(d *desk) (to []phalanx.NodeID, b Blob) {
	seen := map[phalanx.NodeID]bool{}
	for _, s := range d.sent {
		if w, is := s.Message.(WriteBlob); is && !seen[s.To] {
			seen[s.To], b = true, w.Blob
			to = append(to, s.To)
		}
	}
	d.sent = nil
	return to, b
}

func wrote(d *desk, n phalanx.NodeID, b Blob) {
	d.do(Heard{n, BlobWritten{Epoch: 1, Blob: b, Disk: "disk of " + string(n)}})
}

// A disk that fails, or never answers, does not keep a run from ending while two others can write.
func TestACheckpointPassesADiskThatFails(t *testing.T) {
	for _, silent := range []bool{false, true} {
		d := savingDesk(t)
		to, b := writes(d)
		if len(to) != 2 {
			t.Fatal(to)
		}
		bad := to[0]
		wrote(d, to[1], b)
		if silent {
			d.after(2 * time.Minute)
		} else {
			d.do(Heard{bad, BlobWritten{Epoch: 1, Blob: b, Failed: "no space"}})
		}
		d.durable()
		d.after(time.Second)
		again, _ := writes(d)
		if len(again) != 2 || again[0] == bad || again[1] == bad {
			t.Fatalf("silent %v: the checkpoint goes to %v, and %s has failed", silent, again, bad)
		}
		wrote(d, again[0], b)
		wrote(d, again[1], b)
		d.durable()
		if d.c.ids["r"] != nil || len(d.c.saves) > 0 {
			t.Errorf("silent %v: the run does not end", silent)
		}
	}
}

// A large checkpoint may take longer than a small one.
func TestALargeCheckpointTakesItsTime(t *testing.T) {
	d := savingDesk(t)
	at, ok := d.c.saveEnds.Due()
	if want := saveWait + time.Second; !ok || at != d.now+want {
		t.Errorf("it is given up at %v, want %v", at, d.now+want)
	}
}
