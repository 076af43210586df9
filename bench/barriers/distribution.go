package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The measures of the file distribution.
const (
	pReady  = "% ready when the sender begins"
	nTurned = "told to leave, though not among the late"
	nLeft   = "told to leave"
	sBegins = "s: the sender begins"
	sInTime = "s: the last of those in time is ready"
	sAll    = "s: the last of all is ready"
)

// distribution is figure 8 of the paper: Bullet.
var distribution = part{
	name: "bullet",
	about: func(o options) string {
		return fmt.Sprintf(`The start of a file distribution: examples/phases with 50, 90 and 130 receivers on four nodes and a sender's. One of eight takes long to be ready. The sender begins at the first knee from 60 %% on; the barrier tells later receivers to leave.
Scale 1:%d: times are the paper's seconds. The paper has a plot of the arrivals and no list: here receivers are ready at random times within %v, another list in each run, the late ones after 15 to 30 times as long. So the share of late ones is an input; the
measurement shows that the barrier takes the receivers in time and nobody else. A barrier finds a knee later by four times what the news of an entry took, by 200 ms at most, which is not scaled.`, o.scale, spreadOfReady)
	},
	measures: []measure{{pReady, "85 to 90"}, {nTurned, ""}, {nLeft, "10 to 15 % of the receivers"}, {sBegins, ""}, {sInTime, ""}, {sAll, ""}},
	measure: func(ctx context.Context, o options, add func(sample)) (err error) {
		p, err := compile(ctx, "phases")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.remove()) }()
		for _, receivers := range []int{50, 90, 130} {
			for run := range o.runs {
				s, err := measureStart(ctx, p, receivers, run, o.scale)
				if err != nil {
					return err
				}
				add(s)
			}
		}
		return nil
	},
}

// spreadOfReady is the time within which receivers are ready that are not late.
const spreadOfReady = 30 * time.Second

// started is the output of examples/phases.
type started struct {
	Receivers, Late, Ready, Got, Left int
	Begun, InTime, Last               float64
}

func measureStart(ctx context.Context, p programs, receivers, run, scale int) (sample, error) {
	var r started
	err := p.run(ctx, &r, "phases", "--receivers", fmt.Sprint(receivers), "--late", fmt.Sprint(receivers/8), "--nodes", "5",
		"--spread", (spreadOfReady / time.Duration(scale)).String(), "--seed", fmt.Sprint(run+1), "--size", "1048576")
	return sample{Case: fmt.Sprint(receivers, " receivers"), Run: run, Values: map[string]float64{
		pReady:  100 * float64(r.Ready) / float64(receivers),
		nTurned: float64(r.Left - r.Late),
		nLeft:   float64(r.Left),
		sBegins: r.Begun * float64(scale),
		sInTime: r.InTime * float64(scale),
		sAll:    r.Last * float64(scale),
	}}, err
}
