// Package combine compares a reduce's addition of float32 arrays with the loop that a
// C compiler makes of a[i] += b[i]. It has a benchmark only.
package combine
