package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// demoFile is the object that is broadcast.
const demoFile phalanx.ObjectID = "demo/file"

// demoBroadcast sends the file to all nodes at once and checks every copy; then
// it sends the same bytes to one node after the other, each time as an object
// that only this node has.
func (a *app) demoBroadcast(ctx context.Context, cfg demoConfig, c *demoCluster) (demoBroadcast, error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	var res demoBroadcast
	info, want, err := c.putFile(ctx, demoFile, cfg.file)
	if err != nil {
		return res, err
	}
	res.Bytes = info.Meta.Size
	began := time.Now()
	killing := c.killer.inBroadcast(ctx, demoFile)
	if err := c.prefetch(ctx, demoFile); err != nil {
		return res, err
	}
	res.Seconds = time.Since(began).Seconds()
	if err := killing(); err != nil {
		return res, err
	}
	if err := c.check(ctx, want); err != nil {
		return res, err
	}
	if res.OneByOne, err = a.demoOneByOne(ctx, cfg, c); err != nil {
		return res, err
	}
	if err := c.node.Delete(ctx, demoFile); err != nil {
		return res, err
	}
	res.Verified = true
	a.say("broadcast", "%s (%s) to %d nodes in %.3f s; one by one from the source: %.3f s; the SHA-256 of all %d copies is right",
		filepath.Base(cfg.file), formatSize(res.Bytes), len(c.others), res.Seconds, res.OneByOne, len(c.others)+1)
	return res, nil
}

// prefetch has all other nodes fetch the object at once. A node that is killed
// meanwhile need not.
func (c *demoCluster) prefetch(ctx context.Context, id phalanx.ObjectID) error {
	var all errgroup.Group
	for _, to := range c.others {
		all.Go(func() error {
			err := c.node.Prefetch(ctx, id, to)
			if err != nil && c.killer.has(to) {
				return nil
			}
			return err
		})
	}
	return all.Wait()
}

// demoOneByOne returns how many seconds the transfers take, without the Puts.
func (a *app) demoOneByOne(ctx context.Context, cfg demoConfig, c *demoCluster) (float64, error) {
	bar := a.count("one by one", len(c.others))
	defer bar.end()
	var took time.Duration
	for i, to := range c.others {
		id := phalanx.ObjectID(fmt.Sprintf("%s/alone/%d", demoFile, i))
		if _, _, err := c.putFile(ctx, id, cfg.file); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := c.node.Prefetch(ctx, id, to); err != nil {
			return 0, err
		}
		took += time.Since(began)
		if err := c.node.Delete(ctx, id); err != nil {
			return 0, err
		}
		bar.set(i + 1)
	}
	return took.Seconds(), nil
}

// putFile puts a file and returns its SHA-256.
func (c *demoCluster) putFile(ctx context.Context, id phalanx.ObjectID, name string) (storenode.Info, []byte, error) {
	in, err := openInput(name, nil)
	if err != nil {
		return storenode.Info{}, nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	sum := sha256.New()
	info, err := c.node.PutReader(ctx, id, io.TeeReader(in, sum), in.size)
	return info, sum.Sum(nil), err
}

// check has an actor on each node compute the SHA-256 of the node's own copy.
func (c *demoCluster) check(ctx context.Context, want []byte) error {
	fail := func(node phalanx.NodeID, format string, args ...any) error {
		return &phalanx.Error{Op: "demo", Object: demoFile, Node: node, Kind: phalanx.ErrCorrupt, Err: fmt.Errorf(format, args...)}
	}
	for _, node := range append([]phalanx.NodeID{c.node.ID()}, c.others...) {
		pid, err := c.node.SpawnOn(ctx, node, digesterKind, "")
		if err != nil {
			return err
		}
		answer, err := c.node.System().Root.RequestFuture(pid, wrapperspb.String(string(demoFile)), demoPatience).Result()
		if err != nil {
			return fail(node, "its actor does not answer: %w", err)
		}
		switch m := answer.(type) {
		case *wrapperspb.BytesValue:
			if !bytes.Equal(m.GetValue(), want) {
				return fail(node, "its copy has the SHA-256 %x, the file %x", m.GetValue(), want)
			}
		case *wrapperspb.StringValue:
			return fail(node, "%s", m.GetValue())
		default:
			return fail(node, "its actor answers with a %T", m)
		}
		c.node.System().Root.Stop(pid)
	}
	return nil
}
