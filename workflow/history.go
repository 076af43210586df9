package workflow

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Happened is something that has happened in a run, and was made durable. What says what it is: a word for each kind of record, which
// docs/http.md lists as well.
type Happened struct {
	Number uint64        `json:"number"`          // all that has the same one was made durable at once
	At     time.Duration `json:"at_ns"`           // by the ledger's clock: it counts the time for which some node has led
	Epoch  uint64        `json:"epoch"`           // of the controller that has recorded it
	What   string        `json:"what"`            // begun, ended, failed, saved, unsaved, expanded, slept, signalled, recovering, undone, compensated, stays, failing, canceled, resumed or closed
	Task   string        `json:"task,omitempty"`  // its name
	Tasks  []string      `json:"tasks,omitempty"` // of recovering: those that are made again, at most 100 of Count
	Count  int           `json:"count,omitempty"`
	Text   string        `json:"text,omitempty"` // why, or what more there is to say
}

// mostNamed is how many tasks one Happened names.
const mostNamed = 100

// History returns what has happened in a run, in order, as far as it is recorded; what may be a second old is not there yet.
// It reads the ledger page by page while the caller goes through it. The first error is the last of its elements. Attempts that
// fail and are repeated are not recorded: events of the controller's node tell of them.
func History(ctx context.Context, n *cluster.Node, id string) iter.Seq2[Happened, error] {
	return func(yield func(Happened, error) bool) {
		s, err := storyOf(ctx, n, "history", id)
		if err == nil {
			err = s.read(ctx, func(t told) error {
				for _, rec := range t.records {
					h := s.happened(rec)
					h.Number, h.At, h.Epoch = t.number, t.at, t.epoch
					if !yield(h, nil) {
						return errStopped
					}
				}
				return nil
			})
		}
		if err != nil && err != errStopped {
			yield(Happened{}, err)
		}
	}
}

// happened says what a record says.
func (s *story) happened(rec core.Record) Happened {
	switch rec := rec.(type) {
	case core.Begun:
		return Happened{What: "begun", Task: s.name(rec.Task)}
	case core.Ended:
		if rec.Output.Error != "" {
			return Happened{What: "failed", Task: s.name(rec.Task), Text: "caught: " + rec.Output.Error}
		}
		return Happened{What: "ended", Task: s.name(rec.Task), Text: fmt.Sprintf("%d bytes", rec.Output.Size)}
	case core.Saved:
		return Happened{What: "saved", Task: s.name(rec.Task)}
	case core.Unsaved:
		return Happened{What: "unsaved", Task: s.name(rec.Task), Text: "no disk has its checkpoint any more"}
	case core.Expanded:
		return Happened{What: "expanded", Task: s.name(rec.Task), Text: fmt.Sprintf("%d tasks", len(rec.Graph.Tasks))}
	case core.Slept:
		return Happened{What: "slept", Task: s.name(rec.Task), Text: fmt.Sprintf("until %v", rec.Until)}
	case core.Signalled:
		return Happened{What: "signalled", Text: fmt.Sprintf("%s, key %s, %d bytes", rec.Name, rec.ID, len(rec.Bytes))}
	case core.Recovering:
		h := Happened{What: "recovering", Count: len(rec.Set)}
		for _, v := range rec.Set[:min(mostNamed, len(rec.Set))] {
			h.Tasks = append(h.Tasks, s.name(v))
		}
		if rec.Loss {
			h.Text = "though that breaks a rule: the loss was accepted"
		}
		return h
	case core.Undone:
		if rec.Left {
			return Happened{What: "stays", Task: s.name(rec.Task), Text: "its effect: what would take it back is lost"}
		}
		return Happened{What: "undone", Task: s.name(rec.Task)}
	case core.Compensated:
		return Happened{What: "compensated", Task: s.name(rec.Task)}
	case core.Failing:
		return Happened{What: "failing", Text: rec.Cause}
	case core.Cancelled:
		return Happened{What: "canceled", Text: rec.Cause}
	case core.Resumed:
		return Happened{What: "resumed", Text: resumedText(rec)}
	case core.Closed:
		return Happened{What: "closed", Text: rec.Failed}
	}
	return Happened{What: fmt.Sprintf("%T", rec)}
}

func resumedText(rec core.Resumed) string {
	var all []string
	for _, f := range rec.Versions {
		all = append(all, fmt.Sprintf("with %s@%d", f.Name, f.Version))
	}
	if rec.AcceptLoss {
		all = append(all, "without what is lost")
	}
	return strings.Join(all, ", ")
}
