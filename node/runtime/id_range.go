package runtime

import "fmt"

// IDRangeSize is the number of ids of a user namespace: 0 to 65,535, as many as images use.
const IDRangeSize = 1 << 16

// IDRange are the ids of the host that stand for the users and groups 0 to 65,535 of a task's user namespaces, the first for root.
// The zero value is that of a task without user namespaces: its users are those of the host.
type IDRange struct {
	First uint32 `json:"first"`
}

// IsZero reports whether the range is empty: there are no user namespaces.
func (r IDRange) IsZero() bool { return r == IDRange{} }

// Mapping is the range as the kernel and containerd write it: id in the namespace, id of the host, size.
func (r IDRange) Mapping() string { return fmt.Sprintf("0:%d:%d", r.First, IDRangeSize) }
