// Package digits has real work for the examples and the demonstration: 1,797
// handwritten digits (see README.md for their source and licence) and a
// classifier. Its parameters and gradients are flat arrays of over a MiB each, so
// that programs can put them as arrays and reduce them by sum.
//
// Everything here is deterministic for a given seed, and several goroutines may use
// everything but Adam at once.
package digits

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// The sizes of the problem.
const (
	side    = 8
	Pixels  = side * side // of an image
	Classes = 10
	Train   = 1437 // samples that Load returns for training
	Test    = 360  // samples that Load returns for testing
)

// brightest is the largest value of a pixel in the file.
const brightest = 16

//go:embed optdigits.csv.gz
var file []byte

// Sample is one image and the digit that it shows.
type Sample struct {
	Pixels [Pixels]float32 // 0 to 1, row by row
	Digit  int
}

// Load returns the first Train samples of the data set and the last Test ones, which
// other people wrote.
func Load() (train, test []Sample, err error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, fmt.Errorf("optdigits.csv.gz: %w", err)
	}
	r := csv.NewReader(unzipped)
	r.FieldsPerRecord = Pixels + 1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("optdigits.csv.gz: %w", err)
	}
	if len(rows) != Train+Test {
		return nil, nil, fmt.Errorf("optdigits.csv.gz has %d samples, not %d", len(rows), Train+Test)
	}
	all := make([]Sample, len(rows))
	for i, row := range rows {
		if all[i], err = parse(row); err != nil {
			return nil, nil, fmt.Errorf("optdigits.csv.gz:%d: %w", i+1, err)
		}
	}
	return all[:Train], all[Train:], nil
}

func parse(row []string) (s Sample, err error) {
	for i, field := range row {
		limit := brightest
		if i == Pixels {
			limit = Classes - 1
		}
		v, err := strconv.Atoi(field)
		if err != nil || v < 0 || v > limit {
			return s, fmt.Errorf("column %d is %q, not a number from 0 to %d", i+1, field, limit)
		}
		if i == Pixels {
			s.Digit = v
		} else {
			s.Pixels[i] = float32(v) / brightest
		}
	}
	return s, nil
}

// Split cuts samples into n parts whose sizes differ by at most one. The parts
// share memory with samples.
func Split(samples []Sample, n int) [][]Sample {
	parts := make([][]Sample, n)
	for i := range parts {
		parts[i] = samples[len(samples)*i/n : len(samples)*(i+1)/n]
	}
	return parts
}
