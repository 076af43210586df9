// Package cluster makes a process a node of a cluster: it joins, agrees on views
// with the others, hosts the store, the directory's shards and the reduces, and
// gives applications a Node to work with.
//
//	node, err := cluster.Join(ctx, cluster.Config{})          // a cluster of its own
//	node, err := cluster.Join(ctx, cluster.Config{Seeds: []string{"10.0.0.1:7421"}})
//
// Actors send the messages of package storenode to node.Store(); the same calls
// exist as methods of Node. Every call has a deadline, its context's or the
// default one, except Watch and Events, and fails with a *phalanx.Error that
// names the missing object or node. Leave hands over the data that only this node has and ends
// everything that Join started, or names the rest and the node goes on; Close ends
// it in any case. A node that the others have removed joins again by itself, and until
// then its calls fail with phalanx.ErrFenced.
//
// A Node is safe for concurrent use.
package cluster
