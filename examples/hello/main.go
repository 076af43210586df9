// Hello has two actors on two nodes: one puts an object, the other gets it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

func main() {
	_ = flag.Bool("quick", false, "it always is")
	flag.Parse()
	text, err := hello(context.Background())
	if err != nil || text != "hello" {
		log.Fatalf("it got %q: %v", text, err)
	}
	fmt.Printf("node b got %q from node a\n", text)
}

func hello(ctx context.Context) (string, error) {
	a, err := cluster.Join(ctx, cluster.Config{Name: "a"})
	if err != nil {
		return "", err
	}
	defer a.Leave(ctx)
	b, err := cluster.Join(ctx, cluster.Config{Name: "b", Seeds: []string{a.ControlAddr()}})
	if err != nil {
		return "", err
	}
	defer b.Leave(ctx)
	got := make(chan *storenode.Got, 1)
	_, err1 := b.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Request(b.Store(), &storenode.Get{Object: "greeting"}) // waits until it is there
		case *storenode.Got:
			got <- m
		}
	}), "listener")
	_, err2 := a.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			c.Request(a.Store(), &storenode.Put{Object: "greeting", Bytes: []byte("hello")})
		}
	}), "speaker")
	m := <-got // at the latest after a minute, with an error
	if err := errors.Join(err1, err2, m.Err); err != nil {
		return "", err
	}
	defer m.View.Release()
	return string(m.View.Bytes()), nil
}
