package storenode

import "reflect"

// Refuse returns the answer that tells whoever sent request, a message to the store,
// that it ends with err; false if there is no answer to it.
func Refuse(request any, err error) (answer any, ok bool) {
	if isNil(request) {
		return nil, false
	}
	switch m := request.(type) {
	case *Put:
		return &PutDone{Object: m.Object, Err: withOp("put", m.Object, err)}, true
	case *Get:
		return &Got{Object: m.Object, Err: withOp("get", m.Object, err)}, true
	case *Open:
		return &Opened{Object: m.Object, Err: withOp("open", m.Object, err)}, true
	case *Delete:
		return &Deleted{Object: m.Object, Err: withOp("delete", m.Object, err)}, true
	case *Stat:
		return &Stated{Object: m.Object, Err: withOp("stat", m.Object, err)}, true
	case *Prefetch:
		return &Prefetched{Object: m.Object, Err: withOp("prefetch", m.Object, err)}, true
	case *Reduce:
		return &Reduced{Target: m.Target, Err: withOp("reduce", m.Target, err)}, true
	case *Gather:
		return &Gathered{Err: withOp("gather", "", err)}, true
	case *AllReduce:
		return &AllReduced{Target: m.Target, Err: withOp("allreduce", m.Target, err)}, true
	case *Within:
		if answer, ok = Refuse(m.Request, err); !ok {
			answer = notWithin(m.Request)
		}
		if m.Over != nil {
			go m.Over() // as it is called otherwise
		}
		return answer, true
	}
	return nil, false
}

func isNil(request any) bool {
	v := reflect.ValueOf(request)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
