package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

const (
	seedPatience = time.Second // a join that lasts longer has its seeds looked at
	seedLook     = time.Second // at one seed
)

// join joins. It ends before ctx does if a seed turns out to be where a node serves HTTP:
// no node answers a join there, however long it is tried.
func join(ctx context.Context, cfg cluster.Config) (*cluster.Node, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := httpSeed(ctx, cfg.Seeds, cfg.ClientTLS); err != nil {
			cancel(err)
		}
	}()
	n, err := cluster.Join(ctx, cfg)
	var wrong *phalanx.Error
	if err != nil && errors.As(context.Cause(ctx), &wrong) {
		return nil, wrong
	}
	return n, err
}

// httpSeed returns an error that names a seed where a node serves HTTP, and the address that
// was wanted, or nil if there is none. It waits for as long as a join usually takes.
func httpSeed(ctx context.Context, seeds []string, t *tls.Config) error {
	select {
	case <-time.After(seedPatience):
	case <-ctx.Done():
		return nil
	}
	for _, seed := range seeds {
		urls := []string{"http://" + seed} // also beside TLS: on loopback HTTP stays plain
		if t != nil {
			urls = append(urls, "https://"+seed)
		}
		for _, url := range urls {
			s, err := statusAt(ctx, url, t)
			if err != nil || s.Node == "" {
				continue
			}
			return &phalanx.Error{Op: "join", Node: s.Node, Kind: phalanx.ErrInvalid,
				Err: fmt.Errorf("seeds: at %s this node serves HTTP; seeds name the control address (--control-port) of a node, here %s", seed, controlOf(s))}
		}
	}
	return nil
}

func statusAt(ctx context.Context, url string, t *tls.Config) (httpapi.Status, error) {
	c, err := httpapi.NewClient(url, t)
	if err != nil {
		return httpapi.Status{}, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, seedLook)
	defer cancel()
	return c.Status(ctx)
}

// controlOf returns the control address of the node that s is of.
func controlOf(s httpapi.Status) string {
	for _, m := range s.Members {
		if m.Node == s.Node {
			return m.Control
		}
	}
	return "unknown: it is no member now"
}
