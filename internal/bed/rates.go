package bed

import (
	"errors"
	"fmt"
	"time"
)

const (
	burst = 32 << 10 // depth of a link's bucket in bytes

	// queue bounds what waits for a link: 1 MB at 400 Mbit/s. A switch has room for
	// a fixed number of bytes; here it is a time, so that a link that becomes slow
	// does not become a pipe in which everything is seconds late.
	queue    = 20 * time.Millisecond
	queueMin = 2 * burst
)

// Slow makes the link of host i slower by a factor, both ways; 1 makes it as it
// was. The bed must have a rate.
func (b *Bed) Slow(i int, factor int64) error {
	switch {
	case b.cfg.Rate == 0:
		return errors.New("bed: links without a rate cannot be slower")
	case i < 0 || i >= b.cfg.Hosts || factor < 1:
		return fmt.Errorf("bed: host %d among %d, slower by %d", i, b.cfg.Hosts, factor)
	}
	return b.shape(i, b.cfg.Rate/factor)
}

// shape sets the rate of what a host sends, on its interface, and of what it is
// sent, on the switch's port: senders that converge on a host queue in the
// switch.
func (b *Bed) shape(i int, rate int64) error {
	limit := max(rate/8*int64(queue/time.Millisecond)/1000, queueMin)
	for _, at := range [][2]string{{b.host(i), "eth0"}, {b.bridge(), fmt.Sprint("port", i)}} {
		// A packet larger than the bucket would be cut up, at many times the cost.
		if err := run("", "ip", "-n", at[0], "link", "set", at[1], "gso_max_size", fmt.Sprint(burst*7/8)); err != nil {
			return err
		}
		if err := run("", "tc", "-n", at[0], "qdisc", "replace", "dev", at[1], "root", "tbf",
			"rate", fmt.Sprint(rate)+"bit", "burst", fmt.Sprint(burst), "limit", fmt.Sprint(limit)); err != nil {
			return err
		}
	}
	return nil
}
