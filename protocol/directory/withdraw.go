package directory

// corrupt withdraws a generation whose bytes do not have the digest that was
// recorded for it, although each piece is as its origin made it (3.4): every copy
// is dropped, and the id is free. A stale report changes nothing.
func (s *Shard) corrupt(o *object, r Request, c Corrupt) {
	if o.rec.State != Finished || o.rec.Gen != c.Gen || o.rec.Digest == c.Digest {
		s.reply(r, s.known(o))
		return
	}
	s.release(o, 0, func() {
		o.coming, o.lost = false, false
		s.reply(r, s.known(o))
	})
}
