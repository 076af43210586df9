package workflow

// lists are lists of numbers, one for each of 0 to n-1, that share their memory.
type lists struct {
	ends  []int32 // of each list, in items
	items []int32
}

// listsOf returns the lists to which each adds. It calls each twice, which has to add the same.
func listsOf(n int, each func(add func(list, item int))) lists {
	l := lists{ends: make([]int32, n)}
	total := int32(0)
	each(func(list, _ int) { l.ends[list]++; total++ })
	l.items = make([]int32, total)
	end := int32(0)
	for i, size := range l.ends { // where the list begins, at first
		l.ends[i], end = end, end+size
	}
	each(func(list, item int) {
		l.items[l.ends[list]] = int32(item)
		l.ends[list]++
	})
	return l
}

// plus returns lists of the same numbers, each greater by n.
func (l lists) plus(n int) lists {
	if n == 0 {
		return l
	}
	more := lists{ends: l.ends, items: make([]int32, len(l.items))}
	for i, item := range l.items {
		more.items[i] = item + int32(n)
	}
	return more
}

func (l lists) of(i int) []int32 {
	if i == 0 {
		return l.items[:l.ends[0]]
	}
	return l.items[l.ends[i-1]:l.ends[i]]
}
