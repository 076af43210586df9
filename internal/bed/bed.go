package bed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

// Config describes a bed.
type Config struct {
	Hosts int
	Rate  int64 // of each link, in bits per second and direction; 0: unlimited
}

// maxHosts fit into one network of 256 addresses.
const maxHosts = 250

func (c Config) validate() error {
	switch {
	case c.Hosts < 1 || c.Hosts > maxHosts:
		return fmt.Errorf("bed: %d hosts are not 1 to %d", c.Hosts, maxHosts)
	case c.Rate < 0:
		return fmt.Errorf("bed: the rate of %d bits per second is negative", c.Rate)
	}
	return nil
}

// Bed is a set of hosts, numbered from 0. The caller must Close it.
type Bed struct {
	cfg  Config
	name string
	cuts map[Cut]bool // in force
}

var beds atomic.Int64

// New builds a bed, after it has removed the beds of processes that have ended.
func New(cfg Config) (*Bed, error) {
	if err := errors.Join(cfg.validate(), Missing(), Clean()); err != nil {
		return nil, err
	}
	b := &Bed{cfg: cfg, name: fmt.Sprintf("%s-%d", owner(), beds.Add(1)), cuts: map[Cut]bool{}}
	if err := b.build(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bed) build() error {
	sw := b.bridge()
	script := [][]string{
		{"ip", "netns", "add", sw},
		{"ip", "-n", sw, "link", "add", "br0", "type", "bridge", "stp_state", "0", "mcast_snooping", "0"},
		{"ip", "-n", sw, "link", "set", "br0", "up"},
		// A switch has no firewall, but some machines put one into every bridge.
		{"ip", "netns", "exec", sw, "sh", "-c", "for f in /proc/sys/net/bridge/bridge-nf-call-*; do test ! -e $f || echo 0 >$f; done"},
	}
	for i := range b.cfg.Hosts {
		ns, port := b.host(i), fmt.Sprint("port", i)
		script = append(script,
			[]string{"ip", "netns", "add", ns},
			[]string{"ip", "link", "add", "name", "eth0", "netns", ns, "type", "veth", "peer", "name", port, "netns", sw},
			[]string{"ip", "-n", sw, "link", "set", port, "master", "br0", "up"},
			[]string{"ip", "-n", ns, "link", "set", "lo", "up"},
			[]string{"ip", "-n", ns, "addr", "add", b.Addr(i) + "/24", "dev", "eth0"},
			[]string{"ip", "-n", ns, "link", "set", "eth0", "up"},
			// All machines use the same congestion control: measurements have to be comparable.
			[]string{"ip", "netns", "exec", ns, "sh", "-c", "echo reno >/proc/sys/net/ipv4/tcp_congestion_control"})
	}
	for _, line := range script {
		if err := run("", line...); err != nil {
			return err
		}
	}
	if b.cfg.Rate == 0 {
		return nil
	}
	for i := range b.cfg.Hosts {
		if err := b.shape(i, b.cfg.Rate); err != nil {
			return err
		}
	}
	return nil
}

// Close removes the bed, and ends the processes that still run on it.
func (b *Bed) Close() error { return remove(b.name) }

// Addr is the address of host i.
func (b *Bed) Addr(i int) string { return fmt.Sprintf("10.99.0.%d", i+1) }

// Command is exec.Command on host i. The process id is that of the command itself, so
// that the caller can send it signals.
func (b *Bed) Command(i int, name string, args ...string) *exec.Cmd {
	return b.CommandContext(context.Background(), i, name, args...)
}

// CommandContext is exec.CommandContext on host i.
func (b *Bed) CommandContext(ctx context.Context, i int, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", b.host(i), name}, args...)...)
}

func (b *Bed) host(i int) string { return fmt.Sprintf("%s-%d", b.name, i) }

// bridge is the namespace with the switch.
func (b *Bed) bridge() string { return b.name + "-switch" }

// run runs a command with text as its standard input.
func run(text string, line ...string) error {
	_, err := output(text, line...)
	return err
}

func output(text string, line ...string) (string, error) {
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var said, failed strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("bed: %s: %w: %s", strings.Join(line, " "), err, strings.TrimSpace(failed.String()))
	}
	return said.String(), nil
}
