package combine

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

const (
	arrayBytes = 64 << 20 // twice that is out of every cache
	rounds     = 15
	blockBytes = 128 << 10 // that a reduce combines at once
)

// BenchmarkAgainstC adds float32 arrays that are out of cache as a reduce does, and runs
// testdata/sum.c just before and after; go/c is the median of the ratios of their rates.
func BenchmarkAgainstC(b *testing.B) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		b.Skip("there is no gcc")
	}
	program := filepath.Join(b.TempDir(), "sum")
	if out, err := exec.Command(gcc, "-O3", "-march=native", "-o", program, filepath.Join("testdata", "sum.c")).CombinedOutput(); err != nil {
		b.Fatalf("gcc: %v: %s", err, out)
	}
	dst, src := make([]byte, arrayBytes), make([]byte, arrayBytes)
	for i := range dst {
		dst[i], src[i] = 0, 0 // touched
	}
	var ratios, rates []float64
	for b.Loop() {
		before := inC(b, program)
		rate := inGo(b, dst, src)
		rates = append(rates, rate)
		ratios = append(ratios, 2*rate/(before+inC(b, program)))
	}
	b.ReportMetric(median(rates)/1e9, "GB/s")
	b.ReportMetric(median(ratios), "go/c")
}

func inC(b *testing.B, program string) float64 {
	b.Helper()
	out, err := exec.Command(program, strconv.Itoa(arrayBytes), strconv.Itoa(rounds)).Output()
	if err != nil {
		b.Fatal(err)
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}

// inGo returns bytes per second of the destination.
func inGo(b *testing.B, dst, src []byte) float64 {
	b.Helper()
	var took []float64
	for range rounds {
		began := time.Now()
		for at := 0; at < len(dst); at += blockBytes {
			if err := combine.Combine(phalanx.Sum, phalanx.Float32, dst[at:at+blockBytes], src[at:at+blockBytes]); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(began).Seconds())
	}
	return arrayBytes / median(took)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
