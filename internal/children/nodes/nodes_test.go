package nodes

import "testing"

// A test that takes no events still gets reports, and has the newest events.
func TestEventsThatNobodyTakes(t *testing.T) {
	p := &Node[int, int]{Events: make(chan int, 3)}
	for i := range 10 {
		p.happened(i)
	}
	for want := 7; want < 10; want++ {
		if got := <-p.Events; got != want {
			t.Errorf("event %d, want %d", got, want)
		}
	}
}
