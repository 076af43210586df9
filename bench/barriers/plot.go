package main

import (
	"fmt"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/phalanx-go/phalanx/bench/record"
)

// colors that people with any colour vision can tell apart.
var colors = []color.Color{color.RGBA{R: 0, G: 114, B: 178, A: 255}, color.RGBA{R: 213, G: 94, B: 0, A: 255}}

// plot draws the plots of a part.
func (r *result) plot(dir string) error {
	switch r.Name {
	case twoBarriers.name:
		return r.plotTwo(dir)
	case refinement.name:
		return r.plotRefinement(dir)
	}
	return nil
}

// plotTwo draws means and 90th percentiles over the number of hosts, with and without delays.
func (r *result) plotTwo(dir string) error {
	delays := map[string]map[string]plotter.XYs{} // by delay, which ends the case, and by structure
	for _, row := range r.Rows {
		var hosts int
		var structure, delay string
		if n, _ := fmt.Sscanf(row.Case, "%d hosts, %s delay %s", &hosts, &structure, &delay); n < 2 || row.Measure != msTwo {
			continue
		}
		if structure[len(structure)-1] == ',' {
			structure = structure[:len(structure)-1]
		}
		if delays[delay] == nil {
			delays[delay] = map[string]plotter.XYs{}
		}
		of := delays[delay]
		of[structure+", mean"] = append(of[structure+", mean"], plotter.XY{X: float64(hosts), Y: row.Mean})
		of[structure+", 90 %"] = append(of[structure+", 90 %"], plotter.XY{X: float64(hosts), Y: row.P90})
	}
	for delay, of := range delays {
		p := newPlot("hosts", "ms for two barriers in a row")
		for i, name := range slices.Sorted(maps.Keys(of)) { // a mean beside its percentile
			if err := addLine(p, name, of[name], colors[i/2], i%2 == 0); err != nil {
				return err
			}
		}
		name := "two"
		if delay != "" {
			name += "-" + delay
		}
		if err := record.Plot(p, dir, name); err != nil {
			return err
		}
	}
	return nil
}

// plotRefinement draws how many tasks are done over the time, as figure 9 does: the last run.
func (r *result) plotRefinement(dir string) error {
	if len(r.Samples) == 0 {
		return nil
	}
	p := newPlot("s", "tasks done")
	of := r.Samples[len(r.Samples)-1].Series
	for i, name := range slices.Sorted(maps.Keys(of)) {
		var xy plotter.XYs
		for n, at := range slices.Sorted(slices.Values(of[name])) {
			xy = append(xy, plotter.XY{X: at, Y: float64(n + 1)})
		}
		if err := addLine(p, name, xy, colors[i%len(colors)], false); err != nil {
			return err
		}
	}
	return record.Plot(p, dir, "eman")
}

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	return p
}

func addLine(p *plot.Plot, name string, xy plotter.XYs, c color.Color, dashed bool) error {
	slices.SortFunc(xy, func(a, b plotter.XY) int { return int(a.X - b.X) })
	l, s, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	l.Color, s.Color, s.Shape, s.Radius = c, c, draw.CircleGlyph{}, vg.Points(1.5)
	if dashed {
		l.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
	}
	p.Add(l, s)
	p.Legend.Add(name, l, s)
	return nil
}
