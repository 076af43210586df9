// Package cluster makes a process a node of a cluster: it joins, agrees on views
// with the others, hosts the store, the directory's shards and the reduces, and
// gives applications a Node to work with.
//
//	node, err := cluster.Join(ctx, cluster.Config{})          // a cluster of its own
//	node, err := cluster.Join(ctx, cluster.Config{Seeds: []string{"10.0.0.1:7421"}})
//
// Actors send the messages of package storenode to node.Store(); the same calls
// exist as methods of Node.
package cluster
