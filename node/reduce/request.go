package reduce

import (
	"cmp"
	"fmt"

	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// RequestText is equal for requests that make the same target: the same number of the same sources, in
// the same order, by the same op. The hosts make core.Config.Request of it.
func RequestText(cfg core.Config) []byte {
	text := fmt.Appendf(nil, "%q %d %d", string(cfg.Op), cmp.Or(cfg.Num, len(cfg.Sources)), len(cfg.Sources))
	for _, s := range cfg.Sources {
		text = fmt.Appendf(text, " %q", string(s))
	}
	return text
}
