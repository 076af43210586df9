package main

import (
	"os"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const status = "Name:\tphalanx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
	if u, err := parse("264683 895651 2\n", status); err != nil || u != (usage{core: 264683 * time.Nanosecond, switches: 15, forced: 3}) {
		t.Error(u, err)
	}
	for _, bad := range [][2]string{{"", status}, {"1 2 3", ""}, {"1 2 3", "voluntary_ctxt_switches: 1\n"}, {"1 2 3", "voluntary_ctxt_switches: x\n"}} {
		if u, err := parse(bad[0], bad[1]); err == nil {
			t.Errorf("%q is %v", bad, u)
		}
	}
}

func TestRead(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the system does not tell")
	}
	if u, err := read(os.Getpid()); err != nil || u.core == 0 {
		t.Error(u, err)
	}
	if u, err := read(1 << 30); err == nil {
		t.Error(u)
	}
}
