// Broadcast puts one object while others, who come one after the other, get it:
// each reads from whoever has some of it and nobody to send to yet, so that they
// form a chain, and the source sends it once.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

const object phalanx.ObjectID = "weights/1"

func main() {
	nodes := flag.Int("nodes", 6, "how many nodes, all in this process")
	size := flag.Int64("size", 64<<20, "bytes of the object")
	quick := flag.Bool("quick", false, "a small object")
	flag.Parse()
	if *quick {
		*size = 8 << 20
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, *nodes, *size); err != nil {
		fmt.Fprintln(os.Stderr, "broadcast:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, n int, size int64) (err error) {
	if n < 2 {
		return errors.New("it takes two nodes")
	}
	nodes, err := join(ctx, n)
	defer func() {
		for _, node := range nodes[min(1, len(nodes)):] {
			_ = node.Leave(context.Background())
		}
		if len(nodes) > 0 {
			err = errors.Join(err, nodes[0].Leave(context.Background()))
		}
	}()
	if err != nil {
		return err
	}
	source, receivers := nodes[0], nodes[1:]
	data, want := newStream(ctx, size), sha256.New()
	put := make(chan error, 1)
	go func() {
		_, err := source.PutReader(ctx, object, io.TeeReader(data, want), size)
		put <- err
	}()
	defer func() { data.write(size); <-put }()

	copies := make(chan received, n)
	for i, node := range receivers {
		data.write(size * int64(i+1) / int64(n)) // the rest comes later
		go func() { copies <- get(ctx, node) }()
		from, err := sender(ctx, source, node.ID())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s comes when %2d %% is written and gets it from %s\n", node.ID().Name(), 100*(i+1)/n, from.Name())
	}
	began := time.Now()
	data.write(size)
	err = <-put
	put <- nil
	if err != nil {
		return err
	}
	for range receivers {
		c := <-copies
		if c.err != nil {
			return fmt.Errorf("%s: %w", c.by, c.err)
		}
		if !bytes.Equal(c.sum, want.Sum(nil)) {
			return fmt.Errorf("%s has other bytes", c.by)
		}
	}
	fmt.Fprintf(out, "all %d have its %d bytes, with the right SHA-256, %.0f ms after the last one was let go\n",
		len(receivers), size, 1000*time.Since(began).Seconds())
	return nil
}

func join(ctx context.Context, n int) (nodes []*cluster.Node, err error) {
	for i := range n {
		cfg := cluster.Config{Name: fmt.Sprint("n", i+1)}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		node, err := cluster.Join(ctx, cfg)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

type received struct {
	by  phalanx.NodeID
	sum []byte
	err error
}

func get(ctx context.Context, node *cluster.Node) received {
	view, err := node.Get(ctx, object)
	if err != nil {
		return received{by: node.ID(), err: err}
	}
	defer view.Release()
	sum := sha256.Sum256(view.Bytes())
	return received{by: node.ID(), sum: sum[:]}
}

// sender waits until the directory has told receiver whom to read from.
func sender(ctx context.Context, node *cluster.Node, receiver phalanx.NodeID) (phalanx.NodeID, error) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		tree, err := node.Tree(ctx, object)
		if err != nil && !errors.Is(err, phalanx.ErrNotFound) { // it may just be beginning
			return "", err
		}
		for _, e := range tree.Edges {
			if e.To == receiver {
				return e.From, nil
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return "", fmt.Errorf("%s has found nobody to get it from: %w", receiver.Name(), ctx.Err())
		}
	}
}
