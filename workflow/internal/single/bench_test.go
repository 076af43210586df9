package single

import (
	"os"
	"testing"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// BenchmarkAppend measures appends one after the other, and a bare write and sync of as many bytes.
func BenchmarkAppend(b *testing.B) {
	b.Run("log", func(b *testing.B) {
		run(b, b.TempDir(), func(tenures <-chan durable.Tenure, _ chan<- struct{}) {
			n := <-tenures
			done := make(chan error, 1)
			for b.Loop() {
				n.Append([]ledger.Row{{Key: "a", Value: make([]byte, 300)}}, func(err error) { done <- err })
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("sync", func(b *testing.B) {
		f, err := os.Create(b.TempDir() + "/f")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for b.Loop() {
			_, _ = f.Write(make([]byte, 300))
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
