package taskrole

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Lifetime is the lifetime of the key of a task. SDKs ask for another one before that.
const Lifetime = time.Hour

// keyPrefix begins the ids of keys that live for some time, as on AWS.
const keyPrefix = "ASIA"

// sizes of what stands in the id of a key, in bytes.
const (
	sizeExpiry = 4
	sizeTask   = 16
)

// NewKeyID is the id of a key of a task, which says which task that is and when the key ends: so the state has no record of the key, and everything
// that it may do follows from the state of the moment.
func NewKeyID(taskID string, expires time.Time) (id string, ok bool) {
	raw := binary.BigEndian.AppendUint32(nil, uint32(expires.Unix()))
	raw, err := hex.AppendDecode(raw, []byte(taskID))
	return keyPrefix + base32.StdEncoding.EncodeToString(raw), err == nil && len(raw) == sizeExpiry+sizeTask
}

// ParseKeyID reads the id of a key of a task; ok is false for that of any other key.
func ParseKeyID(id string) (taskID string, expires time.Time, ok bool) {
	text, ok := strings.CutPrefix(id, keyPrefix)
	if !ok {
		return "", time.Time{}, false
	}
	raw, err := base32.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != sizeExpiry+sizeTask {
		return "", time.Time{}, false
	}
	return hex.EncodeToString(raw[sizeExpiry:]), time.Unix(int64(binary.BigEndian.Uint32(raw)), 0).UTC(), true
}

// View is a read of roles and tasks in the state.
type View interface {
	table.Reader
	Task(id string) *spec.Task
	Definition(name string) *spec.TaskDefinition
}

// OfTask is the role that a task has now; nil when it has none: it has ended, or the role was removed, although there may be another one of the name.
func OfTask(v View, taskID string) *Role {
	t := v.Task(taskID)
	if t == nil || t.LastStatus == spec.Stopped {
		return nil
	}
	d := v.Definition(t.Definition)
	if d == nil {
		return nil
	}
	arn, id := t.Overrides.Get().Role(d)
	if role := Find(v, iam.RoleName(arn)); role != nil && role.ID == id {
		return role
	}
	return nil
}

// KeyOf is the access key with an id, if that is one of a task: nil when the task has no such role any more.
func KeyOf(v View, id string) (key *accesskey.Key, ofTask bool) {
	taskID, expires, ofTask := ParseKeyID(id)
	if !ofTask {
		return nil, false
	}
	if role := OfTask(v, taskID); role != nil {
		key = role.Key(id, taskID, expires)
	}
	return key, true
}

// Key is the access key with this id of a task that has the role. It has the rights of the role, and no secret: that is in the token of its caller.
func (r *Role) Key(id, taskID string, expires time.Time) *accesskey.Key {
	return &accesskey.Key{
		ID: id, Role: r.Rights.Role, Cluster: r.Rights.Cluster, Grant: r.Rights.Grant, CreatedAt: r.CreatedAt,
		Assumed: &iam.AssumedRole{Role: r.Name, RoleID: r.ID, Task: taskID, Expires: expires},
	}
}

// OfOwner is the access key whose limits count for what tasks of a role have made, all of them together; nil when the owner is no role, or it was removed.
func OfOwner(r table.Reader, owner string) *accesskey.Key {
	name, is := strings.CutPrefix(owner, iam.RoleOwner)
	if !is {
		return nil
	}
	role := Find(r, name)
	if role == nil {
		return nil
	}
	return role.Key("", "", time.Time{})
}

// EncodeSecurityToken is the token of the key of a task: its secret, sealed for the id of the key, and the name of what opens it.
func EncodeSecurityToken(sealed []byte, seal string) string {
	return seal + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// DecodeSecurityToken reads what EncodeSecurityToken has written. It proves nothing: that it can be opened for the id does.
func DecodeSecurityToken(token string) (sealed []byte, seal string, ok bool) {
	seal, text, _ := strings.Cut(token, ".")
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	return sealed, seal, err == nil && seal != "" && len(sealed) > 0
}
