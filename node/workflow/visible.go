package workflow

// visible knows which Appends can be read. One that is durable can be once an AskSure is answered that was asked behind
// it: until then the disk may give the rows of before.
type visible struct {
	appended uint64            // up to this one they are durable
	read     uint64            // and up to this one they can be read
	asked    map[uint64]uint64 // by AskSure: what was durable then
	own      uint64            // the last AskSure of these
	waits    bool              // for that
	late     []lateLook        // in order
}

// lateLook is a Look that waits until an Append can be read.
type lateLook struct {
	look Look
	need uint64
}

// ownSure marks the numbers of AskSures that the controller has not asked.
const ownSure = 1 << 63

// asks notes an AskSure.
func (v *visible) asks(number uint64) { v.asked[number] = v.appended }

// assured takes the answer to an AskSure, and reports whether the controller has not asked it.
func (v *visible) assured(number uint64) (own bool) {
	v.read = max(v.read, v.asked[number])
	delete(v.asked, number)
	if own = number&ownSure != 0; own {
		v.waits = false
	}
	return own
}

// lookAgain asks for the rows that can be read by now, and has the others become so.
func (t *Tenure) lookAgain() {
	v := &t.visible
	for len(v.late) > 0 && v.late[0].need <= v.read {
		look := v.late[0].look
		v.late = v.late[1:]
		t.emit(look)
	}
	if len(v.late) > 0 && !v.waits {
		v.waits = true
		v.own++
		v.asks(v.own | ownSure)
		t.emit(AskSure{Number: v.own | ownSure})
	}
}
