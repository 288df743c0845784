package ecs

import (
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const groupARN = "arn:aws:elasticloadbalancing:us-east-1:" + spec.AccountID + ":targetgroup/"

// balanced is a pool with a definition that has a port, and with target groups: one without a tag, one for the cluster lab, one for default.
func balanced(t *testing.T) *fixture {
	f := ready(t)
	f.must(t, "RegisterTaskDefinition", `{"family":"served","containerDefinitions":[{"name":"main","image":"web","memory":64,"portMappings":[{"containerPort":80}]}]}`)
	for name, clusters := range map[string]string{"closed": "", "lab": "lab", "open": "other default"} {
		group := loadbalancer.Group{ID: name, Name: name, Protocol: traffic.HTTP}
		if clusters != "" {
			group.Tags = []spec.Tag{{Key: loadbalancer.TagCluster, Value: clusters}}
		}
		f.mustApply(t, raftfsm.Wrap(loadbalancer.CreateGroup{Group: group}))
	}
	return f
}

func balancedBy(group, container, port string) string {
	return `"loadBalancers":[{"targetGroupArn":"` + groupARN + group + `/` + group + `","containerName":"` + container + `","containerPort":` + port + `}]`
}

// Keys that are no administrator's of the whole pool try to get the requests of a target group that nobody has opened to their cluster.
func TestWhoMayRegisterTasksWithATargetGroup(t *testing.T) {
	f := balanced(t)
	for i, c := range []struct {
		role  accesskey.Role
		scope auth.KeyClusters
		group string
		want  string
	}{
		{accesskey.RoleSubmit, "", "closed", wire.AccessDenied},
		{accesskey.RoleSubmit, "", "lab", wire.AccessDenied},
		{accesskey.RoleSubmit, "", "nothing", wire.AccessDenied},
		{accesskey.RoleAdmin, "default", "closed", wire.AccessDenied},
		{accesskey.RoleAdmin, "default", "lab", wire.AccessDenied},
		{accesskey.RoleSubmit, "", "open", ""},
		{accesskey.RoleAdmin, "", "nothing", invalid},
		{accesskey.RoleAdmin, "", "closed", ""},
	} {
		name := "s" + string(rune('a'+i))
		got := errorType(f.asKey(c.role, accesskey.Grant{}, c.scope, "CreateService", `{"serviceName":"`+name+`","taskDefinition":"served","desiredCount":0,`+balancedBy(c.group, "main", "80")+`}`).err)
		if got != c.want {
			t.Errorf("%s for %q registers with %s: %q, want %q", c.role, c.scope, c.group, got, c.want)
		}
	}
	f.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"served","desiredCount":0}`)
	if got := errorType(f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "", "UpdateService", `{"service":"web",`+balancedBy("closed", "main", "80")+`}`).err); got != wire.AccessDenied {
		t.Errorf("an update registers with a closed group: %q", got)
	}
}

// Other load balancers start a deployment, and a deployment for another reason keeps them.
func TestLoadBalancersGoWithRevisions(t *testing.T) {
	f := balanced(t)
	f.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"served","desiredCount":0,`+balancedBy("open", "main", "80")+`}`)
	shown := func(body, want string, deployments int) {
		t.Helper()
		answer := f.must(t, "UpdateService", `{"service":"web"`+body+`}`).Body.String()
		if !strings.Contains(answer, want) || strings.Count(answer, `"id":"ecs-svc/`) != deployments {
			t.Errorf("%s: %s", body, answer)
		}
	}
	before := f.state.View().Service("default", "web").Primary().ID
	same := func() bool { return f.state.View().Service("default", "web").Primary().ID == before }
	shown(``, `"targetGroupArn":"`+groupARN+`open/open"`, 1)
	shown(`,`+balancedBy("open", "main", "80"), `"containerPort":80`, 1)
	if !same() {
		t.Error("an update that changes nothing started a deployment")
	}
	shown(`,"forceNewDeployment":true`, `"targetGroupArn":"`+groupARN+`open/open"`, 1)
	if same() {
		t.Error("forceNewDeployment started none")
	}
	before = f.state.View().Service("default", "web").Primary().ID
	shown(`,"loadBalancers":[]`, `"loadBalancers":[]`, 1)
	if same() {
		t.Error("the load balancers are gone, and no deployment started")
	}
	for body, says := range map[string]string{
		balancedBy("open", "other", "80"): "does not exist in the task definition",
		balancedBy("open", "main", "81"):  "did not have a container port 81 defined",
	} {
		if err := f.call("UpdateService", `{"service":"web",`+body+`}`).err; err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
