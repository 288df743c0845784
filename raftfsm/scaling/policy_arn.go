package scaling

import (
	"strings"

	"pinion/raftfsm/spec"
)

// PolicyName has the parts of the ARN of a policy.
type PolicyName struct {
	ID, Cluster, Service, Name string
}

// Where the parts of a policy's ARN are.
const (
	policyPrefix = "scalingPolicy:"
	policyOf     = ":resource/ecs/service/"
	policyNamed  = ":policyName/"
)

// ARN is the name as AWS writes it.
func (n PolicyName) ARN(region string) string {
	return "arn:aws:autoscaling:" + region + ":" + spec.AccountID + ":" + policyPrefix + n.ID + policyOf + n.Cluster + "/" + n.Service + policyNamed + n.Name
}

// ParsePolicyARN reads the ARN of a policy; ok when it is one.
func ParsePolicyARN(arn string) (n PolicyName, ok bool) {
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 || fields[2] != "autoscaling" || fields[4] != spec.AccountID {
		return PolicyName{}, false
	}
	rest, isPolicy := strings.CutPrefix(fields[5], policyPrefix)
	id, rest, hasResource := strings.Cut(rest, policyOf)
	resource, name, hasName := strings.Cut(rest, policyNamed)
	cluster, service, _ := strings.Cut(resource, "/")
	n = PolicyName{ID: id, Cluster: cluster, Service: service, Name: name}
	return n, isPolicy && hasResource && hasName && id != "" && cluster != "" && service != "" && name != ""
}
