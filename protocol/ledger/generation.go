package ledger

import "time"

// A ledger that has lost the majority of its disks for good is recovered by hand (recover.go), and begins a new
// generation: what replicas of earlier ones vote, promise or append counts no more. A term has its generation in the upper
// half of its bits. So every message, entry and epoch tells its generation, and later ones are greater than all earlier
// ones. Within a generation terms rise by one with each election, which never fills the lower half.
//
// Two disks that both are recovered, by mistake, have different generations, and what is recovered later has the greater one: a
// generation is made of the time and of the disk's place among the voters that it knows (nextGeneration).
//
// A replica that has something of the ledger refuses the messages of all other generations: it neither votes for their
// candidates nor follows their leaders. One that is empty takes those of later generations, since it has promised nothing.
const (
	generationBits = 32 // of a term, below its generation
	placeBits      = 3  // of a generation: the disk's place
	maxGeneration  = 1<<(62-generationBits) - 1
)

// generationTakes is how long two recoveries are apart whose generations tell which one was later. The generations last for
// 42 years.
const generationTakes = 10 * time.Second

// GenerationOf returns the generation of the ledger to which a term, or the epoch of a tenure, belongs. It is 0 until the
// ledger is recovered for the first time.
func GenerationOf(term uint64) uint64 { return term >> generationBits }

// FirstTerm is less than all terms in which a leader of the generation is elected, and greater than all of earlier ones.
func FirstTerm(generation uint64) uint64 { return generation << generationBits }

// nextGeneration returns the generation of a ledger that is recovered at a time, from a disk of an earlier one. A clock that is wrong
// does no more than to make it the next one.
func nextGeneration(after uint64, since time.Duration, place int) uint64 {
	n := max(uint64(max(since, 0)/generationTakes), after>>placeBits+1)
	return n<<placeBits | uint64(place)&(1<<placeBits-1)
}

// Generation returns the generation of the replica.
func (c *Core) Generation() uint64 { return GenerationOf(c.log.hard.GetTerm()) }

// Empty reports whether the replica has nothing of the ledger: it was never in the group.
func (c *Core) Empty() bool { return c.log.end() == 0 && len(c.conf.GetVoters()) == 0 }

// belongs reports whether a message of a term is one of the replica's generation, or begins it.
func (c *Core) belongs(term uint64) bool {
	of, own := GenerationOf(term), c.Generation()
	return of == own || of > own && c.Empty()
}
