package leader_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/leader"
)

// A candidate leads, writes with its Fence, and resigns when its function returns.
func ExampleElection_Lead() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := cluster.Join(ctx, cluster.Config{Name: "a", Services: []cluster.Service{barrier.Service()}})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Leave(ctx)

	e, err := leader.Open(n, "scheduler")
	if err != nil {
		log.Fatal(err)
	}
	var last barrier.Fence // what the resource remembers
	err = e.Lead(ctx, "host-a:7000", func(ctx context.Context, fence barrier.Fence) error {
		now, err := e.Leader(ctx)
		fmt.Println(now.Name, "leads")
		if fence.Compare(last) > 0 {
			last = fence
			fmt.Println("what it writes is accepted")
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// host-a:7000 leads
	// what it writes is accepted
}
