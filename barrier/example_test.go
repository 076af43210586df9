package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

func node(ctx context.Context, name string, seeds ...string) *cluster.Node {
	n, err := cluster.Join(ctx, cluster.Config{Name: name, Seeds: seeds, Services: []cluster.Service{barrier.Service()}})
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// Two rounds of a loop, in each of which all three workers wait for each other.
func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a := node(ctx, "a")
	defer a.Leave(ctx)
	b := node(ctx, "b", a.ControlAddr())
	defer b.Leave(ctx)

	var all sync.WaitGroup
	for i, n := range []*cluster.Node{a, b, b} {
		all.Go(func() {
			for round := range uint64(2) {
				step, err := barrier.Open(n, "step", barrier.Config{Max: 3}, barrier.WithGeneration(round))
				if err == nil {
					_, err = step.Enter(ctx, barrier.Entry{Host: fmt.Sprint("worker ", i)})
				}
				if err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	all.Wait()
	fmt.Println("all have done two rounds")
	// Output: all have done two rounds
}

// One opens the barrier with its Config, and the others join with its name alone, in whatever
// order they come.
func ExampleJoin() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a := node(ctx, "a")
	defer a.Leave(ctx)
	b := node(ctx, "b", a.ControlAddr())
	defer b.Leave(ctx)

	var all sync.WaitGroup
	for i, n := range []*cluster.Node{a, b} {
		all.Go(func() {
			start, err := barrier.Join(n, "start")
			if err == nil {
				_, err = start.Enter(ctx, barrier.Entry{Host: fmt.Sprint("worker ", i)})
			}
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	start, err := barrier.Open(a, "start", barrier.Config{Max: 3})
	if err == nil {
		_, err = start.Enter(ctx, barrier.Entry{Host: "coordinator"})
	}
	if err != nil {
		log.Fatal(err)
	}
	all.Wait()
	fmt.Println("all have started")
	// Output: all have started
}

// Who does not come is named.
func ExampleBarrier_Enter() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := node(ctx, "a")
	defer n.Leave(ctx)

	start, err := barrier.Open(n, "start", barrier.Config{Max: 2, Expect: []string{"reader", "writer"}})
	if err != nil {
		log.Fatal(err)
	}
	soon, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	_, err = start.Enter(soon, barrier.Entry{Host: "reader"})
	var absent *barrier.AbsentError
	if errors.As(err, &absent) {
		fmt.Println(absent)
	}
	// Output: 1 of 2 have entered; absent: writer
}

// A semaphore bounds how many are inside at one time.
func ExampleBarrier_Release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := node(ctx, "a")
	defer n.Leave(ctx)

	slots, err := barrier.Open(n, "downloads", barrier.Config{Semaphore: barrier.Semaphore{Count: 1, Timeout: time.Minute}})
	if err != nil {
		log.Fatal(err)
	}
	for _, host := range []string{"first", "second"} {
		if _, err := slots.Enter(ctx, barrier.Entry{Host: host}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(host, "is inside")
		if err := slots.Release(ctx, barrier.Entry{Host: host}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// first is inside
	// second is inside
}
