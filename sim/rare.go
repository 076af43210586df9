package sim

// Faults returns the kinds of faults, by the names in Result.Met.
func Faults() []string {
	return []string{
		"fault: crash", "fault: power lost", "fault: restart with a new incarnation", "fault: hang", "fault: slow node",
		"fault: one-way partition", "fault: link cut", "fault: nobody hears a node", "fault: node cut off",
		"fault: two-way partition of groups", "fault: firewall that refuses", "fault: false suspicion", "fault: owner and backup of a shard at once", "fault: false accuser", "fault: a copy changes in memory", "fault: a part changes in memory", "fault: the part of a Put changes in memory", "fault: inline bytes change in memory", "fault: the leader does not hear an idle member",
		"panic: coordinator", "panic: place", "panic: fetch", "panic: put", "panic: shard replica", "panic: owner of a shard",
		"panic: place that has delivered", "panic: parent of a delivered place",
		"message lost", "message twice", "message again much later", "message cut off", "stream broken", "bad piece",
		"struck: an owner", "struck: a warming owner", "struck: the leader of the voters", "struck: a coordinator", "struck: a place", "struck: a root", "struck: a sender",
	}
}

// Rare returns the paths that many seeds together must meet, so that we notice a workload that
// never gets there.
func Rare() []string {
	return []string{
		"asked a node that does not own", "answer of a former owner", "answer of a former epoch", "late grant given back", "late watch ended", "readiness of a former owner",
		"lease of a partial copy", "lease asked about", "cycle broken by the path in WAIT", "receiver found slow", "sender measured", "receiver says how fast it is", "stream beside a slow one", "receiver moved",
		"transfer resumed", "bad piece asked for again", "sender ahead", "sender behind", "prefix cleared: reset", "prefix cleared: aborted",
		"put fails half-way", "put of equal bytes", "put waits for another", "put final without its caller", "deleted while a put enters its copy", "put awaits copies", "copy ordered",
		"inline", "copy checked after an accusation", "check finds that a copy has changed in memory", "copy that has changed in memory is dropped", "part that has changed in memory starts over", "put failed: corrupt", "get of a local copy that has changed in memory", "eviction granted", "eviction refused", "eviction spares what is used meanwhile", "report waits for another", "report joins another",
		"shard moved", "owner is warm again", "ShardLost", "copy outlives its shard", "reduce asked for again after its shard was lost", "object lost", "lost object put again", "lost object replaced by other bytes",
		"owner says nothing: ErrUnavailable", "majority of the voters lost", "majority seen as lost: voters are missing", "majority found", "cluster formed anew", "forming refused: unavailable", "fenced node rejoins", "join given up", "message of a removed node refused",
		"get of a copy that no owner has heard of", "node suspected: silent", "node suspected: connection refused", "node trusted again",
		"op fails: at a place", "op does not return", "op fails: on small sources", "reduce ended: its op has failed", "reduce inline", "small source is fetched", "allreduce: another node has made it", "target of a reduce is deleted", "reduce attaches to another", "reduce gets the recorded answer", "reduce restarts its target",
		"reduce: ancestors cleared", "reduce: replaced", "reduce: held", "reduce: completed", "place cleared", "delivered place is not replaced",
		"place ended: its coordinator is gone", "place ordered of no member", "place has waited for room", "output given up", "output made again", "source of a reduce starts over", "source of a reduce lost",
		"lost place found by asking", "reduce: moved", "target streams into another reduce", "target starts over that streams into another reduce",
		"coordinator restarted", "coordinator resumed", "coordinator failed too often", "panic: coordinator in the midst of a step", "target made again under another generation",
		"command given up", "left", "leave: copy handed over", "leave: what runs is given up", "leave: fenced meanwhile", "leave failed", "all leave", "left, and no other member stays",
		"refused by a node that leaves: put", "refused by a node that leaves: reduce", "refused by a node that leaves: place",
	}
}
