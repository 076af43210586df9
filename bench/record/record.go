// Package record keeps the results of a benchmark: the machine, the numbers as JSON,
// a table as Markdown, and plots.
package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Machine describes this machine.
func Machine() string {
	model := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), runtime.Version())
}

// Write writes dir/results.json and dir/table.md, and makes dir.
func Write(dir string, results any, table string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(results, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "results.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "table.md"), []byte(table), 0o644)
}

// Plot writes dir/name.svg and dir/name.png.
func Plot(p *plot.Plot, dir, name string) error {
	for _, kind := range []string{"svg", "png"} {
		if err := p.Save(12*vg.Centimeter, 9*vg.Centimeter, filepath.Join(dir, name+"."+kind)); err != nil {
			return err
		}
	}
	return nil
}
