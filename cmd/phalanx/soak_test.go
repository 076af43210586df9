package main

import (
	"strings"
	"testing"
)

// soak refuses wrong flags before it starts anything.
func TestSoakFlags(t *testing.T) {
	b := newBed(t)
	for args, want := range map[string]string{
		"--faults kill":                   "--faults is only for --workflows",
		"--workflows --faults kill,storm": `--faults: there is no "storm", but kill, stop, leave, cut, restart, disk, full, upgrade`,
		"--workflows --for 1s":            "--for: 1s is less than 4s",
		"--workflows --nodes 3":           "--nodes: 3 are not 4 to 32",
		"--next other":                    "--next is only for --workflows",
	} {
		if out := b.run(t, "", strings.Fields("soak "+args)...); !strings.Contains(out, want) || !strings.Contains(out, "\nexit 2\n") {
			t.Errorf("%s: %s, want %s and exit 2", args, out, want)
		}
	}
}
