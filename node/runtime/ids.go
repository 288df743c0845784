package runtime

import (
	"crypto/sha256"
	"encoding/hex"

	"pinion/raftfsm/lazyregexp"
)

// maxPlainName keeps ids within the 76 characters that containerd allows.
const maxPlainName = 43

// plainName is the part of ECS's container names that containerd accepts inside an id as it is.
var plainName = lazyregexp.New(`^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$`)

// ContainerID names a container of a task for ever: "<task id>.<name>", at most 76 characters of [A-Za-z0-9._-]. A
// name that is too long for that, or that containerd would refuse, is replaced by a digest ("<task id>_<24 hex>").
func ContainerID(taskID, name string) string {
	if len(name) <= maxPlainName && plainName.MatchString(name) {
		return taskID + "." + name
	}
	sum := sha256.Sum256([]byte(name))
	return taskID + "_" + hex.EncodeToString(sum[:12])
}
