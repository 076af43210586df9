package member

import "github.com/phalanx-go/phalanx/protocol/view"

// News reports whether the application hears of m, a finding about the majority of the voters. It hears once
// that the majority is lost, and once that it is found. before is the loss that the node knew, or nil;
// while it lasts, others of the voters may be missing.
func News(before *view.Majority, m view.Majority) bool { return (before != nil) != m.Lost }
