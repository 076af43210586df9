package ledger

import (
	"fmt"
	"os"
)

func debugPersist(w *network, m *machine, x Write) {
	if os.Getenv("LDBG") == "" { return }
	fmt.Printf("%v r%d life %d persist #%d rows %d applied %d install %v hard %v compact %d sync %v entries", w.now, m.id, m.life, x.Number, len(x.Rows), x.Applied, x.Install, x.Hard, x.Compact, x.Sync)
	for _, e := range x.Entries { fmt.Printf(" %d/%d", e.GetIndex(), e.GetTerm()) }
	fmt.Printf("  | disk first %d +%d applied %d\n", m.disk.now.first, len(m.disk.now.entries), m.disk.now.applied)
}
func debugf(f string, a ...any) { if os.Getenv("LDBG") != "" { fmt.Printf(f+"\n", a...) } }
