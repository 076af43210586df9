// Package httpapi is a node's HTTP interface, server and client; docs/http.md
// describes it for users. Objects are streamed both ways: a GET can follow a
// PUT that still runs, and an answer is only complete once the object is final.
//
// Server and Client may be used by any number of goroutines.
package httpapi
