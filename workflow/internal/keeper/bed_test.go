package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/poll"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// member is a node with a folder.
type member struct {
	t      testing.TB
	node   *cluster.Node
	keeper *keeper.Keeper
	disk   durable.Store
	dir    string // of it, if it is a folder

	mu       sync.Mutex
	tenure   durable.Tenure // the last
	replaced []actors.ReplicaReplaced
	halted   int
	met      int
	end      context.CancelFunc
	running  sync.WaitGroup
	ended    bool
}

// bed has the members of one cluster.
type bed struct {
	t       testing.TB
	members []*member
	times   node.Config
}

// start starts a node with the folder dir.
func (b *bed) start(name, host, dir string) *member {
	b.t.Helper()
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	m := b.startOn(name, host, d)
	m.dir = dir
	return m
}

// startOn starts a node with an open folder.
func (b *bed) startOn(name, host string, d durable.Store) *member {
	b.t.Helper()
	var err error
	m := &member{t: b.t, disk: d}
	if m.keeper, err = keeper.New(keeper.Settings{Store: d, Host: host, Times: b.times}); err != nil {
		b.t.Fatal(err)
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	cfg := cluster.Config{Name: name, Memory: 64 << 20, Logger: quiet, Services: []cluster.Service{m.keeper.Service()}}
	for _, o := range b.members {
		if !o.ended {
			cfg.Seeds = append(cfg.Seeds, o.node.ControlAddr())
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if m.node, err = cluster.Join(ctx, cfg); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	running, end := context.WithCancel(context.Background())
	m.end = end
	events := m.node.Events(running)
	m.running.Go(func() {
		for e := range events {
			m.mu.Lock()
			switch e := e.(type) {
			case actors.ReplicaReplaced:
				m.replaced = append(m.replaced, e)
			case actors.ReplicaHalted:
				m.halted++
			case actors.LedgerMet:
				m.met++
			}
			m.mu.Unlock()
		}
	})
	m.running.Go(func() {
		_ = m.keeper.Run(running, func(t durable.Tenure) {
			m.mu.Lock()
			m.tenure = t
			m.mu.Unlock()
		})
	})
	b.members = append(b.members, m)
	b.t.Cleanup(m.kill)
	return m
}

// kill ends a node as if it had crashed. Killing twice is safe.
func (m *member) kill() {
	if !m.ended {
		m.ended = true
		m.node.Close()
		m.end()
		m.running.Wait()
		if m.disk == nil {
			return
		}
		if err := m.disk.Close(); err != nil && m.disk.Err() == nil {
			m.t.Errorf("close: %v", err)
		}
	}
}

// leads returns the tenure of a member, if one goes on.
func (m *member) leads() durable.Tenure {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || m.tenure == nil {
		return nil
	}
	select {
	case <-m.tenure.Done():
		return nil
	default:
		return m.tenure
	}
}

// leader waits for a tenure.
func (b *bed) leader() (m *member, t durable.Tenure) {
	b.t.Helper()
	poll.Until(b.t, "a tenure", func() bool {
		for _, one := range b.members {
			if t = one.leads(); t != nil {
				m = one
				return true
			}
		}
		return false
	})
	return m, t
}

// disks waits until the ledger is on n disks, and was told so.
func (b *bed) disks(n int) {
	b.t.Helper()
	poll.Until(b.t, fmt.Sprintf("the ledger is on %d disks", n), func() bool {
		for _, m := range b.members {
			m.mu.Lock()
			last := len(m.replaced) - 1
			is := last >= 0 && len(m.replaced[last].Now) == n
			m.mu.Unlock()
			if is {
				return true
			}
		}
		return false
	})
}

// put appends a row and waits.
func put(t durable.Tenure, key, value string) error {
	done := make(chan error, 1)
	t.Append([]ledger.Row{{Key: key, Value: []byte(value)}}, func(err error) { done <- err })
	return await(done)
}

func confirm(t durable.Tenure) error {
	done := make(chan error, 1)
	t.Confirm(func(err error) { done <- err })
	return await(done)
}

func await(done chan error) error {
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		return errors.New("no answer within a minute")
	}
}

// rows returns the rows with a prefix.
func rows(tb testing.TB, t interface {
	Scan(string, func(ledger.Row) bool) error
}, prefix string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	if err := t.Scan(prefix, func(r ledger.Row) bool { all[r.Key] = string(r.Value); return true }); err != nil {
		tb.Fatal(err)
	}
	return all
}

// three starts three members and waits until the ledger is on their disks.
func three(t testing.TB, times node.Config) *bed {
	b := &bed{t: t, times: times}
	for i := range 3 {
		b.start(fmt.Sprint("n", i+1), fmt.Sprint("host", i+1), t.TempDir())
	}
	b.disks(3)
	return b
}
