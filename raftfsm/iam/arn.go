// Package iam names callers in the forms of AWS's IAM and STS: principals by ARNs, and whom the limits of their access keys count for.
package iam

import (
	"strings"
	"time"
)

// AccountID is the 12-digit account id in every ARN. There is one account in a Pinion cluster.
const AccountID = "123456789012"

// RoleOwner begins the owner of the keys that tasks have by a role.
const RoleOwner = "role/"

// keyUser begins the ARN of a principal with an access key.
const keyUser = "arn:aws:iam::" + AccountID + ":user/"

// assumedRole begins the ARN of a principal with a key of a task; the role and the task follow.
const assumedRole = "arn:aws:sts::" + AccountID + ":assumed-role/"

// AssumedRole says of which role and task a key is, and until when.
type AssumedRole struct {
	Role, RoleID string
	Task         string // id
	Expires      time.Time
}

// ARN is that of the principal.
func (r *AssumedRole) ARN() string { return assumedRole + r.Role + "/" + r.Task }

// RoleName is the name of the role that a taskRoleArn names: what stands behind the last slash of an ARN, or the text itself.
func RoleName(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// OwnerARN is the ARN of the owner of an access key that is none of a role.
func OwnerARN(owner string) string { return keyUser + owner }

// OwnerOfARN is the owner of the access key of a principal; empty for root.
func OwnerOfARN(arn string) string {
	if session, is := strings.CutPrefix(arn, assumedRole); is {
		role, _, _ := strings.Cut(session, "/")
		return RoleOwner + role
	}
	owner, isKey := strings.CutPrefix(arn, keyUser)
	if !isKey {
		return ""
	}
	return owner
}

// PrincipalName is a principal as people know it: the owner of its access key, or the last word of its ARN.
func PrincipalName(arn string) string {
	if owner := OwnerOfARN(arn); owner != "" {
		return owner
	}
	return arn[strings.LastIndex(arn, ":")+1:]
}
