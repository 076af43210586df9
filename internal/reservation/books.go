package reservation

import (
	"fmt"
	"reflect"
)

// Check compares what the store has with what clients were told, and says what is wrong.
func (b Books) Check(told map[string]Booking) error {
	if len(b.Broken) > 0 {
		return fmt.Errorf("the store has seen %d broken promises: %s", len(b.Broken), b.Broken[0])
	}
	if len(b.Locked)+len(b.Open) > 0 {
		return fmt.Errorf("locks are left of %q, and transactions of %q", b.Locked, b.Open)
	}
	taken := map[string]int{} // seats, by trip
	for _, trips := range b.Rows {
		for _, by := range trips {
			if by != "" {
				taken[by]++
			}
		}
	}
	booked := map[string]bool{}
	for _, have := range b.Booked {
		switch want, ok := told[have.Trip]; {
		case booked[have.Trip]:
			return fmt.Errorf("%s is booked twice", have.Trip)
		case !ok || !reflect.DeepEqual(have, want):
			return fmt.Errorf("%s is booked as %+v, and its client was told %+v", have.Trip, have, want)
		}
		booked[have.Trip] = true
		for _, s := range have.Seats {
			if b.Rows[s.Row][s.Number] != have.Trip {
				return fmt.Errorf("seat %d of %s is that of %q, not of %s", s.Number, s.Row, b.Rows[s.Row][s.Number], have.Trip)
			}
			taken[have.Trip]--
		}
		if taken[have.Trip] != 0 {
			return fmt.Errorf("%s has %d seats too many", have.Trip, taken[have.Trip])
		}
		delete(taken, have.Trip)
	}
	if len(taken) > 0 {
		return fmt.Errorf("%d trips have seats and are not booked", len(taken))
	}
	for Trip, t := range told {
		if t.Booked && !booked[Trip] {
			return fmt.Errorf("the client of %s was told that it is booked, and it is not", Trip)
		}
		for _, s := range t.Seats {
			if s.Why == soldOut && b.free(s.Row) > 0 {
				return fmt.Errorf("the client of %s was told that %s is sold out, and it has %d seats", Trip, s.Row, b.free(s.Row))
			}
		}
	}
	return nil
}

func (b Books) free(row string) (n int) {
	for _, by := range b.Rows[row] {
		if by == "" {
			n++
		}
	}
	return n
}

// Sold returns how many seats have been sold, of how many.
func (b Books) Sold() (seats, of int) {
	for row, trips := range b.Rows {
		seats += len(trips) - b.free(row)
		of += len(trips)
	}
	return seats, of
}
