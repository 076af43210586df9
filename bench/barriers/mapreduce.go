package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The measures of MapReduce.
const (
	pKnee      = "% of map tasks done at the knee"
	pRespawned = "% of map tasks given to another worker"
	pRepeated  = "% of work repeated, if all copies ran to their end"
	sWith      = "s: map tasks, with the knee"
	sWithout   = "s: map tasks, without it"
	fasterMap  = "times faster, map tasks"
	fasterAll  = "times faster, with the reduce tasks"
)

// mapReduce is figure 10 of the paper.
var mapReduce = part{
	name: "mapreduce",
	about: func(o options) string {
		return fmt.Sprintf(`MapReduce: examples/mapreduce with %d workers on %d nodes of one process, %d map tasks and %d reduce tasks. At the first knee from half of the tasks on, each task that is not done goes to the worker with the fewest outstanding tasks. A second job does the same without a knee.
Scale 1:%d: a task takes 7 s of the paper's time, %d of the workers are %d times slower, which without a knee comes to 2,464 s for the 16 map tasks of each, as in the paper more than 2,500. The paper does not say how many workers are slow; that 53 %% were done at the
knee suggests almost half. A reduce task reads the words of all map tasks, which takes real time that is not scaled.`, mapWorkers, o.nodes, mapTasks, reduceTasks, o.scale, mapSlow, mapSlower)
	},
	measures: []measure{{sKnee, "68"}, {pKnee, "53"}, {pRespawned, "47"}, {pRepeated, "30"}, {sWith, ""}, {sWithout, "more than 2,500"}, {fasterMap, "16"}, {fasterAll, ""}},
	measure: func(ctx context.Context, o options, add func(sample)) (err error) {
		p, err := compile(ctx, "mapreduce")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.remove()) }()
		for run := range o.runs {
			var r counted
			if err := p.run(ctx, &r, "mapreduce", "--workers", fmt.Sprint(mapWorkers), "--nodes", fmt.Sprint(o.nodes), "--maps", fmt.Sprint(mapTasks), "--reduces", fmt.Sprint(reduceTasks),
				"--pace", (7 * time.Second / time.Duration(o.scale)).String(), "--slow", fmt.Sprint(mapSlow), "--slower", fmt.Sprint(mapSlower)); err != nil {
				return err
			}
			s, err := r.sample(o.scale)
			if err != nil {
				return err
			}
			s.Run = run
			add(s)
		}
		return nil
	},
}

const (
	mapWorkers  = 16
	mapTasks    = 256
	reduceTasks = 16
	mapSlow     = 7 // workers
	mapSlower   = 22
)

// phaseOf is a phase in the output of examples/mapreduce.
type phaseOf struct {
	Tasks, Respawned, Copies int
	KneeAt                   float64 `json:"knee_at"`
	DoneAtKnee               int     `json:"done_at_knee"`
	Seconds                  float64
}

// counted is the output: the map phase and the reduce phase.
type counted struct {
	Knee, Without []phaseOf
}

func (c counted) sample(scale int) (s sample, err error) {
	if len(c.Knee) != 2 || len(c.Without) != 2 {
		return s, fmt.Errorf("the example prints %d and %d phases, not two", len(c.Knee), len(c.Without))
	}
	with, without := c.Knee[0], c.Without[0]
	of := func(n int) float64 { return 100 * float64(n) / float64(with.Tasks) }
	s = sample{Case: fmt.Sprintf("%d workers, %d tasks", mapWorkers, with.Tasks), Values: map[string]float64{
		pRespawned: of(with.Respawned),
		pRepeated:  of(with.Copies),
		sWith:      with.Seconds * float64(scale),
		sWithout:   without.Seconds * float64(scale),
		fasterMap:  without.Seconds / with.Seconds,
		fasterAll:  (without.Seconds + c.Without[1].Seconds) / (with.Seconds + c.Knee[1].Seconds),
	}}
	if with.Copies > 0 {
		s.Values[sKnee], s.Values[pKnee] = with.KneeAt*float64(scale), of(with.DoneAtKnee)
	}
	return s, nil
}
