package workflow

import (
	"errors"

	"github.com/phalanx-go/phalanx"
)

// signalID names a signal of a run.
type signalID struct{ name, id string }

// signal has a run take a signal. The call is answered with the run's SignalTaken, as are its repeats until then.
func (c *Controller) signal(k *call, h *hosted, w SignalRun) {
	s := signalID{w.Name, w.Key}
	if h.signals == nil {
		h.signals = map[signalID][]*call{}
	}
	h.signals[s] = append(h.signals[s], k)
	c.step(h, Signal{Name: w.Name, ID: w.Key, Bytes: w.Bytes}, nil)
}

// signalled answers those who have sent a signal.
func (c *Controller) signalled(h *hosted, e SignalTaken) {
	s := signalID{e.Name, e.ID}
	all := h.signals[s]
	delete(h.signals, s)
	for _, k := range all {
		if e.Err == nil {
			c.answer(k, Answer{Run: h.uid})
			continue
		}
		err := &phalanx.Error{Op: "workflow", Kind: phalanx.ErrInternal, Err: e.Err}
		for _, kind := range []phalanx.Kind{phalanx.ErrExists, phalanx.ErrInvalid, phalanx.ErrNoSpace, phalanx.ErrClosed} {
			if errors.Is(e.Err, kind) {
				err.Kind = kind
			}
		}
		c.fail(k, err)
	}
}
