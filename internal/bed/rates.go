package bed

import (
	"errors"
	"fmt"
	"time"
)

const (
	burst = 32 << 10 // depth of a link's bucket in bytes

	// queue bounds the bytes that wait for a link: 1 MB at 400 Mbit/s. A real switch
	// has room for a fixed number of bytes; here it is a time, so that packets on a
	// slow link are not seconds late.
	queue    = 20 * time.Millisecond
	queueMin = 2 * burst
)

// Slow makes the link of host i slower by a factor, both ways; 1 restores its rate.
// The bed must have a rate.
func (b *Bed) Slow(i int, factor int64) error {
	switch {
	case b.cfg.Rate == 0:
		return errors.New("bed: links without a rate cannot be slower")
	case i < 0 || i >= b.cfg.Hosts || factor < 1:
		return fmt.Errorf("bed: cannot slow down host %d of %d by a factor of %d", i, b.cfg.Hosts, factor)
	}
	return b.shape(i, b.cfg.Rate/factor)
}

// shape sets the rate of a host's outgoing packets, on its interface, and of its
// incoming ones, on the switch's port: senders that converge on a host queue in the
// switch.
func (b *Bed) shape(i int, rate int64) error {
	limit := max(rate/8*int64(queue/time.Millisecond)/1000, queueMin)
	for _, at := range [][2]string{{b.host(i), "eth0"}, {b.bridge(), fmt.Sprint("port", i)}} {
		// The link would cut up a packet larger than the bucket, at many times the cost.
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
