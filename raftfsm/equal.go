package raftfsm

import (
	"bytes"
	"reflect"

	"pinion/raftfsm/compact"
)

// equal says whether two objects, given by pointers, are the same to a snapshot. Commands ask it what has changed: servers that
// restored an object and servers that applied the log may have its moments in different zones, and have to answer alike.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(new(compact.Writer).Append(nil, a), new(compact.Writer).Append(nil, b))
}
