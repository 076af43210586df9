package main

import (
	"fmt"
	"path/filepath"
	"testing"
)

// Two of three nodes with folders are killed and start again. Nobody has to recover the cluster: the nodes begin it anew.
func TestMostVotersWithFoldersAreKilled(t *testing.T) {
	notShort(t)
	dir := t.TempDir()
	ports := freePorts(t, 6)
	f := &flagged{control: ports[:3], http: ports[3:], seeds: 3, nodes: make([]*daemon, 3), up: make([]ready, 3)}
	begin := func(i int) { f.start(t, i, "--dir="+filepath.Join(dir, fmt.Sprint(i))) }
	for i := range 3 {
		begin(i)
	}
	for i := range 3 {
		f.ready(t, i)
	}
	until(t, "three disks hold the ledger", func() bool {
		n, leader := holders(t, f.up[0].HTTP)
		return n == 3 && leader != ""
	})
	for round := range 3 {
		dead := []int{round, (round + 1) % 3}
		f.kill(t, dead...)
		for _, i := range dead {
			begin(i)
		}
		for _, i := range dead {
			f.ready(t, i)
		}
		until(t, "all are ready, and the ledger has a leader", func() bool {
			for i := range 3 {
				if f.unready(i) != "" {
					return false
				}
			}
			n, leader := holders(t, f.up[round].HTTP)
			return n == 3 && leader != ""
		})
	}
}
