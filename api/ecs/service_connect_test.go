package ecs

import (
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// connectable is a pool with a definition whose port has a name.
func connectable(t *testing.T) *fixture {
	f := ready(t)
	f.must(t, "RegisterTaskDefinition", `{"family":"served","containerDefinitions":[{"name":"main","image":"web","memory":64,"portMappings":[
		{"containerPort":8000,"name":"http","appProtocol":"http"},{"containerPort":53,"protocol":"udp","name":"udp"},{"containerPort":9000,"name":"raw"}]}]}`)
	return f
}

func connectedAs(more string) string {
	return `"serviceConnectConfiguration":{"enabled":true,"services":[{"portName":"http"` + more + `}]}`
}

// What a service says of its names is shown as it was said, starts a deployment when it changes, and stays with other deployments.
func TestNamesGoWithRevisions(t *testing.T) {
	f := connectable(t)
	f.must(t, "CreateService", `{"serviceName":"llm","taskDefinition":"served","desiredCount":0,`+connectedAs(`,"discoveryName":"llm","clientAliases":[{"port":80,"dnsName":"Chat"}],"timeout":{"idleTimeoutSeconds":60,"perRequestTimeoutSeconds":30}`)+`}`)
	const shown = `"serviceConnectConfiguration":{"enabled":true,"namespace":"default","services":[{"portName":"http","discoveryName":"llm","clientAliases":[{"port":80,"dnsName":"Chat"}],"timeout":{"idleTimeoutSeconds":60,"perRequestTimeoutSeconds":30}}]},` +
		`"serviceConnectResources":[{"discoveryName":"llm.default","discoveryArn":"arn:aws:servicediscovery:us-east-1:` + spec.AccountID + `:service/llm.default"}]`
	names := func() (text string) {
		for _, n := range f.state.View().Service("default", "llm").Names {
			text += " " + n.Name
		}
		return text
	}
	for _, step := range []struct {
		update, shows, names string
		deploys              bool
	}{
		{``, shown, " chat.default llm.default", false},
		{`,"forceNewDeployment":true`, shown, " chat.default llm.default", true},
		{`,` + connectedAs(``), `"services":[{"portName":"http"}]`, " http.default", true},
		{`,` + connectedAs(``), `"services":[{"portName":"http"}]`, " http.default", false},
		{`,"serviceConnectConfiguration":{"enabled":false}`, ``, "", true},
	} {
		before := f.state.View().Service("default", "llm").Primary().ID
		answer := f.must(t, "UpdateService", `{"service":"llm"`+step.update+`}`).Body.String()
		after := f.state.View().Service("default", "llm").Primary().ID
		if !strings.Contains(answer, step.shows) || names() != step.names || (before != after) != step.deploys {
			t.Errorf("%s: names%s, deployed %t\n%s", step.update, names(), before != after, answer)
		}
	}
}

func TestNamesThatARequestCannotHave(t *testing.T) {
	f := connectable(t)
	f.must(t, "CreateService", `{"serviceName":"known","taskDefinition":"served","desiredCount":0,`+connectedAs(``)+`}`)
	for body, says := range map[string]string{
		connectedAs(``): "another service has the name: known in the cluster default",
		strings.Replace(connectedAs(``), "http", "other", 1):                                          "The port name other does not exist in the task definition served:1",
		strings.Replace(connectedAs(``), "http", "udp", 1):                                            "is a UDP port",
		connectedAs(`,"clientAliases":[{"dnsName":"x"}]`):                                             "must be between 1 and 65535",
		connectedAs(`,"clientAliases":[{"port":80,"dnsName":"api.example.com"}]`):                     "is no name of the namespace default",
		connectedAs(`,"timeout":{"perRequestTimeoutSeconds":-1}`):                                     "perRequestTimeoutSeconds must be between",
		strings.Replace(connectedAs(`,"timeout":{"perRequestTimeoutSeconds":5}`), "http", "raw", 1):   "The port name raw has no appProtocol",
		strings.Replace(connectedAs(testedBy(`{"name":"x-test"}`)), "http", "raw", 1):                 "The port name raw has no appProtocol",
		connectedAs(testedBy(`{"name":"x test"}`)):                                                    "needs the name of a header",
		connectedAs(testedBy(`{"name":"x-test","value":{}}`)):                                         "needs exact",
		connectedAs(`,"clientAliases":[{"port":80,"testTrafficRules":{}}]`):                           "needs the name of a header",
		connectedAs(`,"timeout":{"idleTimeoutSeconds":0}`):                                            "idleTimeoutSeconds must be between",
		connectedAs(`,"tls":{"roleArn":"r"}`):                                                         "tls is not supported",
		connectedAs(`,"ingressPortOverride":1`):                                                       "ingressPortOverride is not supported",
		`"serviceConnectConfiguration":{"enabled":true,"logConfiguration":{"logDriver":"json-file"}}`: "logConfiguration is not supported",
		`"serviceConnectConfiguration":{"enabled":true,"namespace":"prod"}`:                           "have their names in the namespace default, not in prod",
		`"serviceRegistries":[{"registryArn":"arn:aws:servicediscovery:eu-west-1:1:service/x"}]`:      "made with serviceConnectConfiguration",
	} {
		err := f.call("CreateService", `{"serviceName":"llm","taskDefinition":"served","desiredCount":0,`+body+`}`).err
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// testedBy is an alias whose test traffic has a header.
func testedBy(header string) string {
	return `,"discoveryName":"llm","clientAliases":[{"port":80,"dnsName":"chat","testTrafficRules":{"header":` + header + `}}]`
}

// While traffic moves, the tasks of two revisions are in two groups of their names; a deployment that moves none has its tasks in the group of those that
// it replaces. An update that changes nothing starts no deployment, whichever group that is.
func TestNamesMoveBetweenTwoGroups(t *testing.T) {
	f := connectable(t)
	connect := connectedAs(testedBy(`{"name":"x-test","value":{"exact":"1"}}`))
	f.must(t, "CreateService", `{"serviceName":"llm","taskDefinition":"served","desiredCount":0,`+connect+`,"deploymentConfiguration":{"strategy":"BLUE_GREEN"}}`)
	for _, step := range []struct {
		update, group string
		deploys       bool
	}{
		{connect, "llm.default", false},
		{`"forceNewDeployment":true`, "llm.default+alternate", true},
		{connect, "llm.default+alternate", false},
		{`"forceNewDeployment":true`, "llm.default", true},
		{`"forceNewDeployment":true`, "llm.default+alternate", true},
		{`"forceNewDeployment":true,"deploymentConfiguration":{"strategy":"ROLLING"}`, "llm.default+alternate", true},
	} {
		before := f.state.View().Service("default", "llm").Primary().ID
		answer := f.must(t, "UpdateService", `{"service":"llm",`+step.update+`}`).Body.String()
		after := f.state.View().Service("default", "llm").Primary().ID
		f.finish(t, "llm")
		groups := f.state.View().ServiceRevision(after).Targets()
		if len(groups) != 1 || groups[0].Group != step.group || (before != after) != step.deploys {
			t.Errorf("%s: %+v, deployed %t", step.update, groups, before != after)
		}
		if !strings.Contains(answer, `"testTrafficRules":{"header":{"name":"x-test","value":{"exact":"1"}}}`) {
			t.Errorf("%s: %s", step.update, answer)
		}
	}
}

// finish ends the rollout of a service, and the move of its traffic.
func (f *fixture) finish(t *testing.T, name string) {
	t.Helper()
	s := *f.state.View().Service("default", name)
	s.Shift, s.Deployments = service.Shift{}, s.Deployments[:1:1]
	if _, err := f.Propose(t.Context(), raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: s, At: epoch}); err != nil {
		t.Fatal(err)
	}
}

// A key for some clusters tries to take, and to see, the names of others.
func TestNamespacesBelongToClusters(t *testing.T) {
	f := connectable(t)
	for _, body := range []string{`{"clusterName":"lab"}`, `{"clusterName":"prod"}`, `{"clusterName":"shop","serviceConnectDefaults":{"namespace":"corp.example"}}`} {
		f.must(t, "CreateCluster", body)
	}
	for _, c := range []struct {
		scope     auth.KeyClusters
		operation string
		body      string
		want      string
	}{
		{"lab", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"prod"}}`, wire.AccessDenied},
		{"lab", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"corp.example"}}`, wire.AccessDenied},
		{"lab", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"lab.example"}}`, ""},
		{"lab,prod", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"prod"}}`, ""},
		{"lab", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"prod"}}`, wire.AccessDenied},
		{"corp", "CreateCluster", `{"clusterName":"corp"}`, ""},
		{"", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"night"}}`, ""},
		{"night", "CreateCluster", `{"clusterName":"night"}`, wire.AccessDenied}, // its name is what lab was given
		{"", "UpdateCluster", `{"cluster":"lab","serviceConnectDefaults":{"namespace":"Not A Domain"}}`, invalid},
		{"lab", "ListServicesByNamespace", `{"namespace":"corp.example"}`, errorNoNamespace},
		{"shop", "ListServicesByNamespace", `{"namespace":"arn:aws:servicediscovery:eu-west-1:1:namespace/corp.example"}`, ""},
	} {
		if got := errorType(f.asKey(accesskey.RoleAdmin, accesskey.Grant{}, c.scope, c.operation, c.body).err); got != c.want {
			t.Errorf("%q: %s %s: %q, want %q", c.scope, c.operation, c.body, got, c.want)
		}
	}
	f.must(t, "CreateService", `{"serviceName":"web","cluster":"shop","taskDefinition":"served","desiredCount":0,`+connectedAs(``)+`}`)
	f.must(t, "CreateService", `{"serviceName":"apart","cluster":"shop","taskDefinition":"served","desiredCount":0}`)
	if got, want := f.must(t, "ListServicesByNamespace", `{"namespace":"corp.example"}`).Body.String(), `{"serviceArns":["`+arnPrefix+`service/shop/web"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
