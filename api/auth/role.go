package auth

import (
	"bytes"
	"net/http"
	"strings"

	"pinion/api/auth/sigv4"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskrole"
)

// Rights are what the principal may do.
func (p Principal) Rights() accesskey.Rights {
	return accesskey.Rights{Role: p.Role, Cluster: string(p.Clusters), Grant: p.Grant}
}

// CheckPass refuses to give a role to a task, or to act within a task that has it, unless the caller may do all that the role may, or is an administrator of the
// pool: IAM's PassRole. Nil is no role.
func CheckPass(principal string, has accesskey.Rights, role *taskrole.Role) error {
	if role == nil || has.Covers(role.Rights) || has.Role == accesskey.RoleAdmin && has.Cluster == "" {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: the task has the role %s, which may do more than its own key: %s. Use a role that may do less (`pinion role ls`), or a key of the role admin.",
		principal, role.Name, rightsText(role.Rights))
}

func rightsText(r accesskey.Rights) string {
	text := string(r.Role) + " in all clusters"
	if r.Cluster != "" {
		text = string(r.Role) + " in " + spec.ClusterSet(r.Cluster).String()
	}
	if len(r.Grant.Teams) > 0 {
		text += " for the teams " + strings.Join(r.Grant.Teams, ", ")
	}
	return text
}

// securityTokenHeader is where the key of a task has its token.
const securityTokenHeader = "X-Amz-Security-Token"

// keyOf is the access key of a request, nil when there is none of the id. The secret of a task's key is in its token, sealed by the pool for this id.
func keyOf(r *http.Request, view *raftfsm.View, keyID string) (*accesskey.Key, error) {
	key := view.AccessKey(keyID)
	if key == nil || key.Assumed == nil {
		return key, nil
	}
	var ok bool
	if key.Sealed, key.Seal, ok = taskrole.DecodeSecurityToken(r.Header.Get(securityTokenHeader)); !ok || len(r.Header[securityTokenHeader]) > 1 {
		return nil, errBadSecurityToken
	}
	return key, nil
}

var errBadSecurityToken = wire.Errorf(sigv4.UnrecognizedClient, "The security token included in the request is invalid: the access key of a task counts with its token, and has both from $AWS_CONTAINER_CREDENTIALS_FULL_URI. After `pinion keys rotate` it has to have others.")

// isSameKey reports whether a key that was looked up again is the one that a request proved: what was recorded has the same secret.
func isSameKey(proved, now *accesskey.Key) bool {
	return now != nil && (now.Assumed != nil || now.Secret == proved.Secret && bytes.Equal(now.Sealed, proved.Sealed))
}
