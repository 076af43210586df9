package view

import (
	"fmt"
	"testing"
)

func TestZZ(t *testing.T) {
	formTrace = func(w *formWorld, n *node, ev Event, out []Effect) {
		for _, e := range out {
			switch e := e.(type) {
			case Publish:
				if w.had[n.id].Form() != e.View.Form() {
					fmt.Printf("%v %s: %T -> %.400v\n", w.now, n.id, ev, e)
				}
			case Formed, NotFormed, Fenced:
				fmt.Printf("%v %s: %T -> %.400v\n", w.now, n.id, ev, e)
			}
		}
	}
	formAtRandom(t, *formSeedFlag)
}
