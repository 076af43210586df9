// Package detector hosts the core that suspects other members: it sends
// heartbeats on connections of their own, hears of connections that broke, and
// tells the voters and the node of suspicions.
package detector
