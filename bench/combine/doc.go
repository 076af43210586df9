// Package combine compares how a reduce adds float32 arrays with the loop that a
// C compiler makes of a[i] += b[i]. It holds a benchmark only.
package combine
