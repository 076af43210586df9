package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/phalanx-go/phalanx/bench/record"
)

// colors are the systems' colours, which people with any colour vision can tell apart.
var colors = map[string]color.Color{
	"phalanx": color.RGBA{R: 0, G: 114, B: 178, A: 255},
	"openmpi": color.RGBA{R: 213, G: 94, B: 0, A: 255},
	"gloo":    color.RGBA{R: 0, G: 158, B: 115, A: 255},
}

var shapes = map[string]draw.GlyphDrawer{"phalanx": draw.CircleGlyph{}, "openmpi": draw.SquareGlyph{}, "gloo": draw.TriangleGlyph{}}

// plots draws for each operation and number of nodes the median time over the size,
// as the paper's figures 6 and 7 do, as SVG and PNG.
func (r *result) plots(dir string) error {
	type key struct {
		op string
		n  int
	}
	rows := map[key][]row{}
	for _, row := range r.Rows {
		k := key{row.Op, row.Nodes}
		rows[k] = append(rows[k], row)
	}
	for k, all := range rows {
		if len(all) < 2 {
			continue // a point is no line
		}
		p, err := r.draw(fmt.Sprintf("%s, %d nodes", k.op, k.n), all)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d", k.op, k.n)
		if r.Name != "" && r.Name != parts[0].Name && r.Name != k.op {
			name = r.Name + "-" + name
		}
		if err := record.Plot(p, dir, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *result) draw(title string, rows []row) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "bytes of each input", "ms"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	var ticks plot.ConstantTicks
	for _, row := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(row.Size), Label: sizeText(row.Size)})
	}
	p.X.Tick.Marker = ticks
	p.Add(plotter.NewGrid())
	var bound plotter.XYs
	least := math.Inf(1) // of the times: a bound far below them says nothing
	for _, row := range rows {
		for _, c := range row.Cells {
			least = min(least, c.Median)
		}
	}
	for _, row := range rows {
		if row.Bound > least/3 {
			bound = append(bound, plotter.XY{X: float64(row.Size), Y: row.Bound})
		}
	}
	if len(bound) > 1 {
		l, err := plotter.NewLine(bound)
		if err != nil {
			return nil, err
		}
		l.Dashes, l.Color = []vg.Length{vg.Points(4), vg.Points(3)}, color.Gray{Y: 100}
		p.Add(l)
		p.Legend.Add("least by bandwidth", l)
	}
	for _, system := range r.systems {
		var points plotter.XYs
		for _, row := range rows {
			for _, c := range row.Cells {
				if c.System == system {
					points = append(points, plotter.XY{X: float64(row.Size), Y: c.Median})
				}
			}
		}
		if len(points) == 0 {
			continue
		}
		l, s, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = colors[system], vg.Points(1.5)
		s.Color, s.Shape, s.Radius = colors[system], shapes[system], vg.Points(2.5)
		p.Add(l, s)
		p.Legend.Add(system, l, s)
	}
	return p, nil
}
