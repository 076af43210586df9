package workflow

import (
	"flag"
	"fmt"
	"os"
)

var dbgSeed = flag.Int("workflow.seed", -1, "only this one")
var dbg = flag.String("workflow.trace", "", "")

func trace(format string, args ...any) {
	if *dbg != "" {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}
