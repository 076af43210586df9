package fakenode

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// These methods do as the directory does: they see what is there, and not the bytes.

// Delete removes an object.
func (n *Node) Delete(ctx context.Context, id phalanx.ObjectID) error {
	if err := n.refuse(ctx, "delete", id); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.objects[id]; o != nil {
		n.deleted[id] = true
		n.end(o, phalanx.ErrDeleted, errors.New("the object was deleted"))
	}
	return nil
}

// Stat tells of an object.
func (n *Node) Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	if err := n.refuse(ctx, "stat", id); err != nil {
		return storenode.ObjectStat{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o, err := n.find("stat", id)
	if err != nil {
		return storenode.ObjectStat{}, err
	}
	st := n.describe(o)
	st.Holders = []directory.HolderStat{{Node: n.Info.Node, Complete: o.final, Pinned: o.final, Origin: !st.Inline}}
	return st, nil
}

// List returns the objects whose ids begin with prefix, in order.
func (n *Node) List(ctx context.Context, prefix string) ([]storenode.ObjectStat, error) {
	if n.Fail != nil {
		return nil, n.Fail
	}
	if err := phalanx.ObjectID(prefix).Validate(); err != nil && prefix != "" {
		return nil, as("list", err)
	}
	if err := ended(ctx, "list", "", "the context had ended before the call"); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []storenode.ObjectStat
	for id, o := range n.objects {
		if strings.HasPrefix(string(id), prefix) {
			all = append(all, n.describe(o))
		}
	}
	slices.SortFunc(all, func(a, b storenode.ObjectStat) int { return strings.Compare(string(a.Object), string(b.Object)) })
	return all, nil
}

// Prefetch waits for the object and remembers the request.
func (n *Node) Prefetch(ctx context.Context, id phalanx.ObjectID, nodes ...phalanx.NodeID) error {
	if err := n.refuse(ctx, "prefetch", id); err != nil {
		return err
	}
	for _, node := range nodes {
		if !slices.ContainsFunc(n.Info.Members, func(m httpapi.Member) bool { return m.Node == node }) {
			return fail("prefetch", id, phalanx.ErrInvalid, "the node is not a member of the cluster")
		}
	}
	stop := n.wakes(ctx)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		o, err := n.find("prefetch", id)
		switch {
		case err == nil && o.final:
			n.prefetched[id] = nodes
			return nil
		case errors.Is(err, phalanx.ErrDeleted):
			return err
		}
		if err := n.wait(ctx, "prefetch", id, nobody); err != nil {
			return err
		}
	}
}

// Tree returns Tr if it is of id, and else the broadcast of the object to this node.
func (n *Node) Tree(ctx context.Context, id phalanx.ObjectID) (httpapi.Tree, error) {
	if err := n.refuse(ctx, "tree", id); err != nil {
		return httpapi.Tree{}, err
	}
	if n.Tr.Object == id {
		return n.Tr, nil
	}
	st, err := n.Stat(ctx, id)
	if err != nil {
		return httpapi.Tree{}, as("tree", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := httpapi.Tree{Object: id, Kind: "broadcast", State: st.State.String(), Size: st.Meta.Size}
	held := int64(-1)
	if o := n.objects[id]; o != nil {
		held = int64(len(o.bytes))
	}
	for _, h := range st.Holders {
		t.Nodes = append(t.Nodes, httpapi.TreeNode{Node: h.Node, Complete: h.Complete, Pinned: h.Pinned, Origin: h.Origin, Held: held})
	}
	return t, nil
}
