package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
)

// ErrExists is what Containers.Start answers when the container id is known, whatever its state: a task id never
// starts a container twice.
var ErrExists = errors.New("container exists already")

// ErrNotFound is what Containers.Wait answers when there is no container of that id on this host (any more).
var ErrNotFound = errors.New("no such container")

// ErrCreate marks an error of Containers.Start that came before the container's process could be tried: its file
// system, its spec, its devices. It becomes "CannotCreateContainerError: ..."; every other error of Start becomes
// "CannotStartContainerError: ...".
var ErrCreate = errors.New("container could not be created")

// maxPlainName keeps ids within the 76 characters that containerd allows.
const maxPlainName = 43

// plainName is the part of ECS's container names that containerd accepts inside an id as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$`)

// ContainerID names a container of a task for ever: "<task id>.<name>", at most 76 characters of [A-Za-z0-9._-]. A
// name that is too long for that, or that containerd would refuse, is replaced by a digest ("<task id>_<24 hex>").
func ContainerID(taskID, name string) string {
	if len(name) <= maxPlainName && plainName.MatchString(name) {
		return taskID + "." + name
	}
	sum := sha256.Sum256([]byte(name))
	return taskID + "_" + hex.EncodeToString(sum[:12])
}
