// Level measures on one machine whether time and memory per object stay level:
// with 1 to 10,000 objects in flight at once, with 1 to 64 reduces at once, with up
// to 100,000 small objects held, and for callers that hold a thousand views or read
// the events. Every point is a process of its own, with a cluster of four nodes that
// talk over loopback.
//
//	go run ./bench/level
//	go run ./bench/level --parts flight,reduces --out bench/results/level
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// pointVar has the point that the program measures.
const pointVar = "PHALANX_LEVEL_POINT"

func main() {
	log.SetFlags(0)
	if text := os.Getenv(pointVar); text != "" {
		var p point
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			log.Fatal(err)
		}
		if err := p.measure(); err != nil {
			log.Fatal(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(p); err != nil {
			log.Fatal(err)
		}
		return
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	which := flag.String("parts", strings.Join(names, ","), "parts to measure")
	out := flag.String("out", "", "directory for results.json, table.md and plots")
	flag.Parse()
	chosen := strings.Split(*which, ",")
	for _, c := range chosen {
		if !slices.Contains(names, c) {
			log.Fatalf("there is no part %q: %s", c, strings.Join(names, ", "))
		}
	}
	r := newResult()
	for _, part := range parts {
		if !slices.Contains(chosen, part.name) {
			continue
		}
		for _, n := range part.counts {
			p, err := run(point{Part: part.name, N: n})
			if err != nil {
				log.Fatalf("%s, %d: %v", part.name, n, err)
			}
			r.Points = append(r.Points, p)
		}
	}
	fmt.Print(r.table())
	if *out != "" {
		if err := r.write(*out); err != nil {
			log.Fatal(err)
		}
	}
}

// run measures p in a process of its own.
func run(p point) (point, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), pointVar+"="+string(text)), os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(said, &p)
}
