package httpapi

import "time"

// SetStall has c take a node for silent after about d.
func (c *Client) SetStall(d time.Duration) { c.stall = d }

// Late is how much longer than a node's own limit a client waits.
const Late = late

// SetGrace has running requests have d as Serve ends.
func (f *Front) SetGrace(d time.Duration) { f.grace = d }

// Dial opens a client's connection.
var Dial = dial
