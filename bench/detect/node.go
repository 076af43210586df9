package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// line is an event of a node process, as one line of JSON.
type line struct {
	At     int64          `json:"at"` // of the system's monotonic clock, in nanoseconds
	What   string         `json:"what"`
	Node   phalanx.NodeID `json:"node"`
	Addr   string         `json:"addr,omitempty"`
	Voters []phalanx.NodeID
}

// runNode runs a node until its standard input ends.
func runNode(bind, seed string) error {
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := cluster.Config{Logger: log, Bind: bind, Insecure: true, Name: "n" + time.Now().Format("150405.000000")}
	if seed != "" {
		cfg.Seeds = []string{seed}
	}
	cfg.Alone = seed == ""
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n, err := cluster.Join(ctx, cfg)
	if err != nil {
		return err
	}
	lines := make(chan line, 1000)
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	go func() {
		for e := range n.Events(context.Background()) {
			switch e := e.(type) {
			case actors.NodeJoined:
				lines <- line{What: "joined", Node: e.Node, At: monotonic()}
			case actors.NodeDown:
				lines <- line{What: "down", Node: e.Node, At: monotonic()}
			case actors.NodeSuspected:
				lines <- line{What: "suspected", Node: e.Node, At: monotonic()}
			}
		}
	}()
	lines <- line{What: "ready", Node: n.ID(), Addr: n.ControlAddr()}
	for _, m := range n.View().Members {
		lines <- line{What: "joined", Node: m.ID, At: monotonic()}
	}
	beat := time.NewTicker(20 * time.Millisecond)
	leader, voters := phalanx.NodeID(""), ""
	out := json.NewEncoder(os.Stdout)
	for {
		select {
		case l := <-lines:
			_ = out.Encode(l)
		case <-beat.C:
			now, v := n.Leader(), n.View()
			if b, _ := json.Marshal(v.Voters); now != leader || string(b) != voters {
				leader, voters = now, string(b)
				_ = out.Encode(line{What: "leader", Node: now, Voters: v.Voters})
			}
		}
	}
}
