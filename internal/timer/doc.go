// Package timer has a timer that costs little to move, for what is moved again and again and
// seldom comes due: the time at which silence would be noticed, for example.
//
// A timer of package time that is stopped, or moved to a later time, may still wake the
// process at its old time. That wakes the runtime's monitor as well: some 6 to 8 context
// switches. On Linux a Timer is a file descriptor that the runtime polls like a connection,
// where to be moved costs none, and to come due 3.
package timer
