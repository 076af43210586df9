package store

import (
	"reflect"

	"github.com/phalanx-go/phalanx/storenode"
)

// Refuse returns the answer that ends request, a message to the store, with err; false if the
// message has no answer.
func Refuse(request any, err error) (answer any, ok bool) {
	if isNil(request) {
		return nil, false
	}
	switch m := request.(type) {
	case *storenode.Put:
		return &storenode.PutDone{Object: m.Object, Err: withOp("put", m.Object, err)}, true
	case *storenode.Get:
		return &storenode.Got{Object: m.Object, Err: withOp("get", m.Object, err)}, true
	case *storenode.Open:
		return &storenode.Opened{Object: m.Object, Err: withOp("open", m.Object, err)}, true
	case *storenode.Delete:
		return &storenode.Deleted{Object: m.Object, Err: withOp("delete", m.Object, err)}, true
	case *storenode.Stat:
		return &storenode.Stated{Object: m.Object, Err: withOp("stat", m.Object, err)}, true
	case *storenode.Prefetch:
		return &storenode.Prefetched{Object: m.Object, Err: withOp("prefetch", m.Object, err)}, true
	case *storenode.Reduce:
		return &storenode.Reduced{Target: m.Target, Err: withOp("reduce", m.Target, err)}, true
	case *storenode.Gather:
		return &storenode.Gathered{Err: withOp("gather", "", err)}, true
	case *storenode.AllReduce:
		return &storenode.AllReduced{Target: m.Target, Err: withOp("allreduce", m.Target, err)}, true
	case *storenode.Within:
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
