package workflow

import (
	"testing"

	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A Trial gives the output of a task that returns Refs as the task has returned it, to Output and to the compensation.
func TestTrialOfATaskThatReturnsRefs(t *testing.T) {
	var undone parcel
	pack := Func1("pack", 1, func(c Context, s string) (parcel, error) {
		r, err := c.Put("body", []byte(s))
		return parcel{Label: s, Of: &r}, err
	}).Compensate(func(_ Context, _ string, p parcel) error { undone = p; return nil })
	trial := NewTrial(TrialConfig{})
	r, err := trial.Do(t.Context(), pack.Bind(Value("hello")), Try{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Output[parcel](r)
	if err != nil || r.Digest != dataplane.DigestBytes(r.Output).String() || p.Label != "hello" || len(r.Objects) != 1 || *p.Of != r.Objects[0] {
		t.Errorf("%+v, %v; it has made %v", p, err, r.Objects)
	}
	if err := trial.Compensate(t.Context(), pack.Bind(Value("hello")), r, Try{}); err != nil || undone.Label != "hello" || *undone.Of != *p.Of {
		t.Errorf("%+v, %v", undone, err)
	}
}
