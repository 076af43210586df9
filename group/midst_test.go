package group_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// A revoke in the midst of a large AllReduce, and of a large Get, ends them at all
// nodes, with what they have moved. They cannot be over before: half of an object has
// not come yet.
func TestRevokeInTheMidst(t *testing.T) {
	size := 64 << 20
	if testing.Short() {
		size = 16 << 20
	}
	for name, call := range map[string]func(g *group.Group, sources []phalanx.ObjectID) error{
		"allreduce": func(g *group.Group, sources []phalanx.ObjectID) error {
			_, _, err := g.AllReduce(t.Context(), storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
			return err
		},
		"get": func(g *group.Group, sources []phalanx.ObjectID) error {
			_, err := g.Get(t.Context(), sources[0])
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := start(t, 4)
			groups := form(t, "g", nodes)
			ctx := within(t)
			more, put := make(chan struct{}), make(chan error, 1)
			var sources []phalanx.ObjectID
			for i, n := range nodes {
				id := phalanx.ObjectID(fmt.Sprint("x/", i))
				sources = append(sources, id)
				if array := cluster.WithArray(phalanx.Float32, int64(size/4)); i > 0 {
					if _, err := n.Put(ctx, id, make([]byte, size), array); err != nil {
						t.Fatal(err)
					}
				} else {
					go func() {
						_, err := n.PutReader(ctx, id, &halting{size: size, more: more}, int64(size), array)
						put <- err
					}()
				}
			}
			eventually(t, "all are there", func() bool {
				objects := 0
				for _, n := range nodes {
					objects += n.Status().Objects
				}
				return objects == len(nodes)
			})
			var before []cluster.Status
			for _, n := range nodes {
				before = append(before, n.Status())
			}
			ends := make(chan error, len(groups))
			for _, g := range groups[1:] {
				go func() { ends <- call(g, sources) }()
			}
			eventually(t, "much has moved", func() bool {
				received := uint64(0)
				for i, n := range nodes {
					received += n.Status().BytesReceived - before[i].BytesReceived
				}
				return received > uint64(size/2)
			})
			if err := groups[3].Revoke(ctx, ""); err != nil {
				t.Fatal(err)
			}
			for range groups[1:] {
				is(t, <-ends, phalanx.ErrRevoked)
			}
			for i, n := range nodes {
				eventually(t, "nothing is left", func() bool {
					s := n.Status()
					return s.Memory.Used-s.Memory.Idle <= before[i].Memory.Used-before[i].Memory.Idle+64<<10 && // the directory grows
						s.Reduces+s.Places+s.Fetching == 0 && s.Objects == before[i].Objects
				})
			}
			for i, n := range nodes {
				before[i] = n.Status()
			}
			close(more) // nobody wants it any more
			if err := <-put; err != nil {
				t.Error(err)
			}
			for i, n := range nodes {
				if moved := n.Status().BytesSent - before[i].BytesSent; moved > 1<<20 {
					t.Errorf("node %d sends %d bytes", i, moved)
				}
			}
		})
	}
}

// halting reads zeros, and waits for more when half of them are read.
type halting struct {
	size, at int
	more     chan struct{}
}

func (h *halting) Read(p []byte) (int, error) {
	if h.at == h.size/2 {
		<-h.more
	}
	end := h.size
	if h.at < h.size/2 {
		end = h.size / 2
	}
	if h.at == end {
		return 0, io.EOF
	}
	n := min(len(p), end-h.at)
	clear(p[:n])
	h.at += n
	return n, nil
}
