package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) treeCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "tree ID",
		Short:   "Draw the live broadcast or reduce of an object",
		GroupID: looks,
		Long: `Tree draws the senders and receivers of an object at this moment; or, while a reduce
makes it, the reduce's tree: the root on top, below each place its children, each
with its source, the label of its output, and how much of that it has made.
Any node can be asked.`,
		Example:           "  phalanx tree models/7",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeIDs(&c, 0, 1),
		RunE: action(func(ctx context.Context, args []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			t, err := client.Tree(ctx, phalanx.ObjectID(args[0]), c.timeout)
			if err != nil {
				return err
			}
			return a.print(t, func(w io.Writer) { draw(w, t) })
		}),
	}
	c.flags(cmd)
	return cmd
}

// forest is the drawing's input: nodes by their index in the tree.
type forest struct {
	tree  httpapi.Tree
	below [][]int
	roots []int
}

// newForest puts senders above receivers, but in a reduce the root on top.
func newForest(t httpapi.Tree) forest {
	f := forest{tree: t, below: make([][]int, len(t.Nodes))}
	index := func(node phalanx.NodeID, place int) int {
		for i, n := range t.Nodes {
			if n.Node == node && (t.Kind != "reduce" || n.Place == place) {
				return i
			}
		}
		return -1
	}
	hangs := make([]bool, len(t.Nodes))
	for _, e := range t.Edges {
		up, down := index(e.From, e.FromPlace), index(e.To, e.ToPlace)
		if t.Kind == "reduce" {
			up, down = down, up
		}
		if up < 0 || down < 0 || hangs[down] || f.leads(down, up) {
			continue // one end is gone by now, or the picture is of two moments
		}
		hangs[down] = true
		f.below[up] = append(f.below[up], down)
	}
	for i := range t.Nodes {
		if !hangs[i] {
			f.roots = append(f.roots, i)
		}
	}
	return f
}

// leads reports whether to is from or below it.
func (f forest) leads(from, to int) bool {
	if from == to {
		return true
	}
	for _, i := range f.below[from] {
		if f.leads(i, to) {
			return true
		}
	}
	return false
}

// share says how much n bytes are of the whole.
func (f forest) share(n int64) string {
	if f.tree.Size <= 0 {
		return formatSize(n)
	}
	return fmt.Sprintf("%s, %d %%", formatSize(n), int64(100*float64(n)/float64(f.tree.Size)))
}

// label describes a node.
func (f forest) label(n httpapi.TreeNode) string {
	text := string(n.Node)
	if f.tree.Kind == "reduce" {
		text = fmt.Sprintf("%d  %s  %s  %s", n.Place, n.Node, n.Source, n.Generation)
		switch {
		case n.Lost:
			text += "  lost"
		case n.Held >= 0:
			text += "  " + f.share(n.Held)
		}
		if n.Origin {
			text += "  root"
		}
		return text
	}
	switch {
	case n.Complete:
		text += "  complete"
	case n.Held >= 0:
		text += "  " + f.share(n.Held)
	default:
		text += "  arriving"
	}
	if n.Pinned {
		text += ", pinned"
	}
	if n.Origin {
		text += ", origin"
	}
	return text
}

// draw writes the tree with lines.
func draw(w io.Writer, t httpapi.Tree) {
	fmt.Fprintf(w, "%s  %s, %s, %s", t.Object, t.Kind, t.State, formatSize(t.Size))
	if t.Degree > 0 {
		fmt.Fprintf(w, ", degree %d", t.Degree)
	}
	if t.Hidden > 0 {
		fmt.Fprintf(w, ", %d nodes are not shown", t.Hidden)
	}
	fmt.Fprintln(w)
	f := newForest(t)
	var level func(nodes []int, margin string)
	level = func(nodes []int, margin string) {
		for k, i := range nodes {
			branch, below := "├─ ", "│  "
			if k == len(nodes)-1 {
				branch, below = "└─ ", "   "
			}
			fmt.Fprintf(w, "%s%s%s\n", margin, branch, f.label(t.Nodes[i]))
			level(f.below[i], margin+below)
		}
	}
	level(f.roots, "")
}
