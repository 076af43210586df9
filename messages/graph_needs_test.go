package messages

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// A reduce of some arrays begins with as many tasks as make up the arrays that it combines.
func TestHowManyInputsAReduceNeeds(t *testing.T) {
	task := func(n uint32) GraphInput { return GraphInput{InputTask, n} }
	constant, list := GraphInput{InputConstant, 0}, func(n uint32) GraphInput { return GraphInput{InputList, n} }
	for _, c := range []struct {
		num    int
		inputs []GraphInput
		want   int
	}{
		{0, []GraphInput{task(0), task(1), task(2)}, 0},
		{2, []GraphInput{task(0), task(1), task(2)}, 2},
		{3, []GraphInput{task(0), task(1), task(2)}, 0},
		{2, []GraphInput{task(0), constant, task(2)}, 1},
		{2, []GraphInput{task(0), list(2), constant, list(1), constant, task(2)}, 1},
		{1, []GraphInput{task(0), constant, task(2)}, 1}, // not with the constant alone
		{1, []GraphInput{task(0), list(1), task(1)}, 0},  // the list has to be there as a whole
		{2, []GraphInput{task(0), task(0), task(1)}, 0},  // one output may be two of the arrays, and need not be
		{2, []GraphInput{task(0), task(0), task(1), task(2)}, 2},
	} {
		g := &Graph{Calls: []GraphCall{{Name: "f"}, {Kind: CallReduce, Op: phalanx.Sum, DType: phalanx.Int32, Num: c.num, Effect: workflow.None}},
			Tasks: []GraphTask{{}, {}, {}, {Call: 1, Inputs: c.inputs}}}
		if got := g.Needs(3); got != c.want {
			t.Errorf("%d of %v: it needs %d, want %d", c.num, c.inputs, got, c.want)
		}
		if got := g.Needs(0); got != 0 {
			t.Errorf("a function needs %d", got)
		}
	}
}

// The job of a reduce has the arguments for which the order has inputs, at their places.
func TestFitOfSomeInputs(t *testing.T) {
	g := &Graph{Calls: []GraphCall{{Name: "f"}, {Kind: CallReduce, Op: phalanx.Sum, DType: phalanx.Int32, Num: 3, Effect: workflow.None}}, Constants: [][]byte{{1}},
		Tasks: []GraphTask{{}, {}, {}, {}, {Call: 1, Inputs: []GraphInput{{InputTask, 0}, {InputTask, 2}, {InputConstant, 0}, {InputTask, 1}, {InputTask, 2}}, After: []int32{3}}}}
	o := Fit(workflow.Order{ID: workflow.AttemptID{Run: aUID, Task: 4}, Local: 4, From: []int{1, 2, 3}, Inputs: []workflow.Located{{Task: 1}, {Task: 2}, {Task: 3}}}, g, 0, nil)
	want := []GraphInput{{InputTask, 0}, {InputConstant, 0}, {InputTask, 1}, {InputTask, 0}}
	job := o.Of.(*Job)
	if len(o.Inputs) != 2 || o.Inputs[0].Task != 2 || o.Inputs[1].Task != 1 || len(job.Args) != len(want) {
		t.Fatalf("%+v, %v", o.Inputs, job.Args)
	}
	for i := range want {
		if job.Args[i] != want[i] {
			t.Errorf("argument %d is %v, want %v", i, job.Args[i], want[i])
		}
	}
	if l := letterCrosses(t, o).(workflow.Order); len(l.Of.(*Job).Args) != len(want) {
		t.Errorf("%v", l.Of)
	}
}
