package workflow

// components numbers the strongly connected components of the nodes 0 to n-1, whose edges
// requires calls f with. A component comes after those that it requires (Tarjan 1972, without
// recursion: a chain may have a million tasks).
func components(n int, requires func(v node, f func(node))) (of []int32, count int) {
	of = make([]int32, n)
	index, low := make([]int32, n), make([]int32, n)
	for i := range n {
		of[i], index[i] = none, none
	}
	type frame struct {
		v    node
		todo int // where its edges begin in edges
	}
	var stack, edges []node // edges has those of frames that are not followed yet
	var frames []frame
	next := int32(0)
	enter := func(v node) {
		index[v], low[v] = next, next
		next++
		stack = append(stack, v)
		frames = append(frames, frame{v, len(edges)})
		requires(v, func(w node) { edges = append(edges, w) })
	}
	for root := range n {
		if index[root] != none {
			continue
		}
		enter(node(root))
		for len(frames) > 0 {
			f := frames[len(frames)-1]
			if len(edges) > f.todo {
				w := edges[len(edges)-1]
				edges = edges[:len(edges)-1]
				if index[w] == none {
					enter(w)
				} else if of[w] == none {
					low[f.v] = min(low[f.v], index[w])
				}
				continue
			}
			v := f.v
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].v
				low[up] = min(low[up], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				of[w] = int32(count)
				if w == v {
					break
				}
			}
			count++
		}
	}
	return of, count
}
