package memory_test

import (
	"testing"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/conformance"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

var roomy = durable.Space{Free: 90e9, Total: 100e9}

type bed struct{ *memory.Folder }

func (b bed) Open(cluster string) (durable.Store, error) {
	d, err := b.Folder.Open(memory.Config{Cluster: cluster, Later: func(f func()) { go f() }})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (b bed) Crash() { b.Folder.Crash(func(n int) int { return n / 2 }) }

func (b bed) Full(full bool) {
	if full {
		b.SetSpace(durable.Space{Free: 4e9, Total: 100e9})
	} else {
		b.SetSpace(roomy)
	}
}

func (b bed) Corrupt(place string) { b.Folder.Corrupt(place) }

func TestConformance(t *testing.T) {
	disk := uint64(0)
	conformance.Run(t, func(*testing.T) conformance.Bed {
		disk++
		return bed{memory.NewFolder(disk, roomy)}
	})
}
