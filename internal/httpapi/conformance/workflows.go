package conformance

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/workflow"
)

var workflows = []check{
	{"no run", func(b *bed) {
		if all, err := b.node.WorkflowList(b.ctx, "", "", 0); err != nil || len(all) != 0 {
			b.Errorf("%+v, %v", all, err)
		}
		b.noRun("a", phalanx.ErrNotFound)
	}},
	{"ids that no run can have", func(b *bed) {
		for _, id := range []string{"", "a\nb", strings.Repeat("x", phalanx.MaxIDBytes+1)} {
			_, err := b.node.WorkflowResult(b.ctx, id)
			b.kind(err, "result", phalanx.ErrInvalid)
			b.kind(b.node.WorkflowCancel(b.ctx, id, "c"), "cancel", phalanx.ErrInvalid)
			b.kind(b.node.WorkflowResume(b.ctx, id), "resume", phalanx.ErrInvalid)
			b.kind(b.node.WorkflowSignal(b.ctx, id, "go", "k", nil), "signal", phalanx.ErrInvalid)
			b.kind(b.node.WorkflowForget(b.ctx, id), "forget", phalanx.ErrInvalid)
		}
	}},
	{"a run that ends", func(b *bed) {
		end := b.start(b.T, "a/b")
		st, err := b.node.WorkflowStatus(b.ctx, "a/b")
		if err != nil || st.ID != "a/b" || st.UID == "" || st.State != workflow.Open || st.Tasks < 1 || st.Ended >= st.Tasks || st.Why != "" {
			b.Errorf("%+v, %v", st, err)
		}
		b.failed(b.node.WorkflowForget(b.ctx, "a/b"), "forget", "a/b", phalanx.ErrInvalid)
		_, err = b.node.WorkflowResult(b.shortly(), "a/b")
		b.failed(err, "result", "a/b", phalanx.ErrDeadline)
		for range 2 { // it is kept, also if nothing waits for it; the second is a repeat
			if err := b.node.WorkflowSignal(b.ctx, "a/b", "early", "k", nil); err != nil {
				b.Error(err)
			}
		}
		b.failed(b.node.WorkflowSignal(b.ctx, "a/b", "early", "another", nil), "signal", "a/b", phalanx.ErrExists)
		if err := b.node.WorkflowResume(b.ctx, "a/b", workflow.AcceptLoss()); err != nil {
			b.Error(err)
		}
		got := make(chan error, 1)
		go func() {
			data, err := b.node.WorkflowResult(b.ctx, "a/b")
			if err == nil && string(data) != "bytes" {
				err = errors.New(string(data))
			}
			got <- err
		}()
		if d, err := b.node.WorkflowGraph(b.ctx, "a/b"); err != nil || len(d.Tasks) < 1 || d.Tasks[0].State == "saved" || d.Tasks[0].Name == "" {
			b.Errorf("%+v, %v", d, err)
		}
		end([]byte("bytes"), "")
		if err := returns(b, "the result", got); err != nil {
			b.Error(err)
		}
		b.ended("a/b", false)
		if d, err := b.node.WorkflowGraph(b.ctx, "a/b"); err != nil || len(d.Tasks) < 1 || d.Tasks[0].State != "saved" || d.Tasks[0].Attempts < 1 {
			b.Errorf("%+v, %v", d, err)
		}
		var story []string
		for h, err := range b.node.WorkflowHistory(b.ctx, "a/b") {
			if err != nil {
				b.Error(err)
			}
			story = append(story, h.What)
		}
		if n := len(story); n < 3 || story[n-1] != "closed" || !slices.Contains(story, "begun") || !slices.Contains(story, "ended") {
			b.Errorf("in the run has happened: %v", story)
		}
		if l, err := b.node.WorkflowLedger(b.ctx); err != nil || l.Leader == "" || l.Epoch == 0 || len(l.Disks) == 0 {
			b.Errorf("%+v, %v", l, err)
		}
		for range b.node.WorkflowHistory(b.ctx, "a/b") {
			break
		}
		if again := b.ended("a/b", false); again.UID != st.UID {
			b.Errorf("run %s has become %s", st.UID, again.UID)
		}
	}},
	{"a run that fails", func(b *bed) {
		end := b.start(b.T, "a")
		end(nil, "there is no money")
		_, err := b.node.WorkflowResult(b.ctx, "a")
		b.failed(err, "result", "a", phalanx.ErrFailed)
		var why *workflow.RunError
		if !errors.As(err, &why) || why.Run != "a" || !strings.Contains(why.Why, "there is no money") {
			b.Errorf("it has failed with %v", err)
		}
		b.ended("a", true)
	}},
	{"a run that is canceled", func(b *bed) {
		b.start(b.T, "a")
		if err := b.node.WorkflowCancel(b.ctx, "a", "nobody wants it"); err != nil {
			b.Fatal(err)
		}
		_, err := b.node.WorkflowResult(b.ctx, "a")
		b.failed(err, "result", "a", phalanx.ErrFailed)
		if !strings.Contains(err.Error(), "nobody wants it") {
			b.Errorf("it has failed with %v", err)
		}
		b.ended("a", true)
	}},
	{"a run that is forgotten", func(b *bed) {
		b.start(b.T, "a")(nil, "")
		if _, err := b.node.WorkflowResult(b.ctx, "a"); err != nil {
			b.Fatal(err)
		}
		if err := b.node.WorkflowForget(b.ctx, "a"); err != nil {
			b.Fatal(err)
		}
		_, err := b.node.WorkflowResult(b.ctx, "a")
		b.failed(err, "result", "a", phalanx.ErrDeleted)
		b.failed(b.node.WorkflowCancel(b.ctx, "a", "c"), "cancel", "a", phalanx.ErrDeleted)
		b.failed(b.node.WorkflowForget(b.ctx, "a"), "forget", "a", phalanx.ErrDeleted)
		_, err = b.node.WorkflowStatus(b.ctx, "a")
		b.failed(err, "status", "a", phalanx.ErrNotFound)
		_, err = b.node.WorkflowGraph(b.ctx, "a")
		b.failed(err, "graph", "a", phalanx.ErrNotFound)
		for _, err = range b.node.WorkflowHistory(b.ctx, "a") {
			b.failed(err, "history", "a", phalanx.ErrNotFound)
		}
	}},
	{"a list of runs", func(b *bed) {
		for _, id := range []string{"b/2", "a", "b/1", "b/3", "c"} {
			b.start(b.T, id)(nil, "")
		}
		poll.Until(b.T, "a list with the run that was started last", func() bool { // a list may be a second old
			all, err := b.node.WorkflowList(b.ctx, "c", "", 0)
			return err != nil || len(all) > 0
		})
		for _, c := range []struct {
			prefix, after string
			limit         int
			want          string
		}{{"", "", 0, "a b/1 b/2 b/3 c"}, {"b/", "", 0, "b/1 b/2 b/3"}, {"b/", "b/1", 1, "b/2"}, {"", "b/3", 0, "c"}, {"d", "", 0, ""}} {
			all, err := b.node.WorkflowList(b.ctx, c.prefix, c.after, c.limit)
			if err != nil {
				b.Fatal(err)
			}
			var ids []string
			for _, l := range all {
				ids = append(ids, l.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				b.Errorf("%+v: %s", c, got)
			}
		}
	}},
}

// noRun checks that every call about a run has an error of a kind.
func (b *bed) noRun(id string, kind phalanx.Kind) {
	b.Helper()
	object := phalanx.ObjectID(id)
	_, err := b.node.WorkflowStatus(b.ctx, id)
	b.failed(err, "status", object, kind)
	_, err = b.node.WorkflowGraph(b.ctx, id)
	b.failed(err, "graph", object, kind)
	err = nil
	for _, err = range b.node.WorkflowHistory(b.ctx, id) {
	}
	b.failed(err, "history", object, kind)
	_, err = b.node.WorkflowResult(b.ctx, id)
	b.failed(err, "result", object, kind)
	b.failed(b.node.WorkflowCancel(b.ctx, id, "c"), "cancel", object, kind)
	b.failed(b.node.WorkflowResume(b.ctx, id), "resume", object, kind)
	b.failed(b.node.WorkflowSignal(b.ctx, id, "go", "k", nil), "signal", object, kind)
	b.failed(b.node.WorkflowForget(b.ctx, id), "forget", object, kind)
}

// ended checks what is known of a run that has ended. How it stands may be a second old.
func (b *bed) ended(id string, failed bool) (st workflow.Status) {
	b.Helper()
	object := phalanx.ObjectID(id)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		var err error
		if st, err = b.node.WorkflowStatus(b.ctx, id); err != nil {
			b.Fatal(err)
		}
		if st.State == workflow.Finished {
			break
		}
		<-again.C
	}
	if (st.Why != "") != failed {
		b.Errorf("%+v", st)
	}
	b.failed(b.node.WorkflowCancel(b.ctx, id, "late"), "cancel", object, phalanx.ErrClosed)
	b.failed(b.node.WorkflowResume(b.ctx, id), "resume", object, phalanx.ErrClosed)
	b.failed(b.node.WorkflowSignal(b.ctx, id, "go", "k", nil), "signal", object, phalanx.ErrClosed)
	return st
}
