// Package ledger x.
package ledger
