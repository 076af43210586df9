package main

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/phalanx-go/phalanx/bench/record"
)

// result is the result of one run.
type result struct {
	Machine string    `json:"machine"`
	Date    time.Time `json:"date"`
	Points  []point   `json:"points"`
}

func newResult() *result {
	return &result{Machine: record.Machine(), Date: time.Now().UTC().Truncate(time.Second)}
}

// of returns the points of a part.
func (r *result) of(part string) []point {
	return slices.DeleteFunc(slices.Clone(r.Points), func(p point) bool { return p.Part != part })
}

// table is Markdown.
func (r *result) table() string {
	var b strings.Builder
	b.WriteString("| what | how many | µs for each: medians | KB for each besides its bytes |\n|---|---|---|---|\n")
	for _, part := range parts {
		for _, p := range r.of(part.name) {
			var times []string
			for _, name := range slices.Sorted(maps.Keys(p.Us)) {
				times = append(times, fmt.Sprintf("%s %.0f", name, p.Us[name]))
			}
			bytes := ""
			if p.Each != 0 {
				bytes = fmt.Sprintf("%.1f", p.Each/1024)
			}
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", part.of, p.N, strings.Join(times, ", "), bytes)
		}
	}
	return b.String()
}

// write writes everything into a directory.
func (r *result) write(dir string) error {
	head := fmt.Sprintf("Four nodes in one process, %s, %s.\n\n", r.Machine, r.Date.Format(time.DateOnly))
	if err := record.Write(dir, r, head+r.table()); err != nil {
		return err
	}
	for _, part := range parts {
		if points := r.of(part.name); len(points) > 2 {
			if err := part.plot(dir, points); err != nil {
				return err
			}
		}
	}
	return nil
}

// plot draws the times for each over the number.
func (k part) plot(dir string, points []point) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = k.of, "µs for each"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min = 0
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	shades := []color.Color{color.RGBA{R: 0, G: 114, B: 178, A: 255}, color.RGBA{R: 213, G: 94, B: 0, A: 255}}
	for i, name := range slices.Sorted(maps.Keys(points[0].Us)) {
		var xy plotter.XYs
		for _, at := range points {
			xy = append(xy, plotter.XY{X: float64(at.N), Y: at.Us[name]})
		}
		l, s, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		l.Color, s.Color, s.Shape = shades[i%len(shades)], shades[i%len(shades)], draw.CircleGlyph{}
		p.Add(l, s)
		p.Legend.Add(name, l, s)
	}
	return record.Plot(p, dir, k.name)
}
