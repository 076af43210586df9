package main

import "github.com/phalanx-go/phalanx/workflow"

// mode is how the workflow recovers: what is saved, and who waits for it.
type mode struct {
	name    string
	all     []workflow.Option // of each task but the last
	augment []workflow.Option // of augment, too
	actors  []workflow.Option // of the tasks that return trainers, too
	effect  bool              // the last task publishes the model
}

var snapshot = []workflow.Option{workflow.Snapshot}

// modes are those of section 3.5. Without any checkpoint Check refuses a workflow whose end has an effect: what was published
// could be made again, and differ. So the run ends with the model, and publishes nothing.
var modes = []mode{
	{"SyncCkpt", []workflow.Option{workflow.SyncCheckpoint}, nil, snapshot, true},
	{"AsyncCkpt", nil, nil, snapshot, true},
	{"Selective", nil, []workflow.Option{workflow.NoCheckpoint}, snapshot, true},
	{"NoCkpt", []workflow.Option{workflow.NoCheckpoint}, nil, nil, false},
}

// flow is the workflow of figure 3.2d: data, which are augmented anew for each epoch, and trainers, which go on from one
// epoch to the next. The task of one epoch brings about the fault.
func (m mode) flow(p program, j job, epochs int, f fault) workflow.Step[made] {
	of := func(e int) workflow.Arg[job] {
		j := j
		if j.Epoch = e; e == epochs/2 {
			j.Fault = f
		}
		return workflow.Value(j)
	}
	data := p.ingest.Bind(of(-1)).With(m.all...)
	trainers := p.spawn.Bind(of(-1)).With(m.all...).With(m.actors...)
	for e := range epochs {
		augmented := p.augment.Bind(of(e), data).With(m.all...).With(m.augment...)
		trainers = p.train.Bind(of(e), trainers, augmented).With(m.all...).With(m.actors...)
	}
	if m.effect {
		return p.publish.Bind(of(-1), workflow.Read(trainers))
	}
	return p.evaluate.Bind(of(-1), workflow.Read(trainers))
}
