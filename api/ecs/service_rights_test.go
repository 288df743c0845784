package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// asKey carries out an operation for a key.
func (f *fixture) asKey(role accesskey.Role, grant accesskey.Grant, scope auth.KeyClusters, operation, body string) reply {
	r := &Request{Region: "us-east-1", Principal: "me", Owner: "AKIA1", Role: role, Grant: grant, KeyClusters: scope, MaxCount: 10, View: f.state.View(), Store: f, Now: func() time.Time { return epoch }}
	bound, err := Operations[operation].Prepare(r, []byte(body), wire.DecodeJSON)
	if err == nil {
		_, err = bound.Run(context.Background())
	}
	return reply{err: err}
}

// The tasks of a service count for a team, so a key for a team makes services of it alone, and knows of no others.
func TestAKeyForATeamHasServicesOfIt(t *testing.T) {
	f := ready(t)
	ten := 10
	vision := accesskey.Grant{Teams: []string{"vision"}, MaxPriority: &ten}
	f.must(t, "CreateService", `{"serviceName":"other","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"tags":[{"key":"pinion.team","value":"speech"}]}`)
	as := func(operation, body string) string {
		return errorType(f.asKey(accesskey.RoleSubmit, vision, "", operation, body).err)
	}
	if got := as("CreateService", `{`+serving+`,"desiredCount":1}`); got != "" {
		t.Fatal(got)
	}
	if tags := f.state.View().Service("default", "web").Tags; !slices.Contains(tags, spec.Tag{Key: spec.TagTeam, Value: "vision"}) {
		t.Errorf("its tasks count for no team: %v", tags)
	}
	for _, c := range []struct{ operation, body, want string }{
		{"CreateService", `{"serviceName":"x","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"tags":[{"key":"pinion.team","value":"speech"}]}`, wire.AccessDenied},
		{"CreateService", `{"serviceName":"x","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"tags":[{"key":"pinion.priority","value":"11"}]}`, wire.AccessDenied},
		{"CreateService", `{"serviceName":"other","taskDefinition":"tensorflow-1-gpu","desiredCount":1}`, invalid},
		{"UpdateService", `{"service":"other","desiredCount":0}`, noService},
		{"DeleteService", `{"service":"other","force":true}`, noService},
		{"ListServiceDeployments", `{"service":"other"}`, noService},
		{"ListTasks", `{"serviceName":"other"}`, noService},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `service/default/other","tags":[{"key":"a","value":"b"}]}`, resourceNotFound},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `service/default/web","tags":[{"key":"pinion.team","value":"speech"}]}`, wire.AccessDenied},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `service/default/web","tags":[{"key":"pinion.priority","value":"11"}]}`, wire.AccessDenied},
		{"UntagResource", `{"resourceArn":"` + arnPrefix + `service/default/web","tagKeys":["pinion.team"]}`, wire.AccessDenied},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `service/default/web","tags":[{"key":"a","value":"b"}]}`, ""},
		{"UpdateService", `{"service":"web","desiredCount":2}`, ""},
	} {
		if got := as(c.operation, c.body); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.operation, c.body, got, c.want)
		}
	}
	rollout := f.state.View().Service("default", "other").Primary().Rollout
	if got := as("StopServiceDeployment", `{"serviceDeploymentArn":"`+arnPrefix+`service-deployment/default/other/`+rollout+`"}`); got != "ServiceDeploymentNotFoundException" {
		t.Error(got)
	}
}

// A key for a cluster has the services of it.
func TestAKeyForAClusterHasItsServices(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1}`)
	for operation, body := range map[string]string{
		"CreateService": `{` + serving + `,"desiredCount":1}`, "UpdateService": `{"service":"web","desiredCount":2}`, "DeleteService": `{"service":"web"}`,
		"DescribeServices": `{"services":["web"]}`, "ListServices": `{}`, "UpdateTaskProtection": `{"tasks":["a"],"protectionEnabled":true}`,
		"TagResource":              `{"resourceArn":"` + arnPrefix + `service/default/web","tags":[{"key":"a","value":"b"}]}`,
		"StopServiceDeployment":    `{"serviceDeploymentArn":"` + arnPrefix + `service-deployment/default/web/x"}`,
		"DescribeServiceRevisions": `{"serviceRevisionArns":["` + arnPrefix + `service-revision/default/web/1"]}`,
	} {
		if got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", operation, body); errorType(got.err) != wire.AccessDenied {
			t.Errorf("%s: %v", operation, got.err)
		}
	}
}

// The tasks of an administrator's service may have what only an administrator can ask for: nobody else decides that they ask for it.
func TestWhoMayHaveAServiceAskForPowers(t *testing.T) {
	f := ready(t)
	f.must(t, "RegisterTaskDefinition", strings.Replace(oneGPU, `"cpu":1024,"res`, `"privileged":true,"res`, 1))
	create := func(role accesskey.Role, name string) {
		t.Helper()
		if got := f.asKey(role, accesskey.Grant{}, "", "CreateService", `{"serviceName":"`+name+`","taskDefinition":"tensorflow-1-gpu:1","desiredCount":1}`); got.err != nil {
			t.Fatal(got.err)
		}
	}
	create(accesskey.RoleAdmin, "admins")
	create(accesskey.RoleSubmit, "mine")
	if s := f.state.View().Service("default", "mine"); s.ByAdmin || s.Owner == nil || s.Owner.Key != "AKIA1" {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		role   accesskey.Role
		name   string
		denied bool
	}{{accesskey.RoleSubmit, "admins", true}, {accesskey.RoleAdmin, "admins", false}, {accesskey.RoleSubmit, "mine", false}} {
		got := f.asKey(c.role, accesskey.Grant{}, "", "UpdateService", `{"service":"`+c.name+`","taskDefinition":"tensorflow-1-gpu:2"}`)
		if denied := errorType(got.err) == wire.AccessDenied; denied != c.denied || !denied && got.err != nil {
			t.Errorf("%s updates %s: %v", c.role, c.name, got.err)
		}
	}
}

// A key with limits of tasks does not have tasks run that count for others: it scales their services down, and no more.
func TestLimitsAreNotLeftThroughAServiceOfOthers(t *testing.T) {
	f := ready(t)
	one := 1
	f.must(t, "CreateService", `{"serviceName":"root","taskDefinition":"tensorflow-1-gpu:1","desiredCount":2}`)
	f.must(t, "RegisterTaskDefinition", oneGPU)
	for i, limit := range []accesskey.Grant{{MaxTasks: 1}, {MaxWaiting: 1}, {MaxGPUs: &one}, {}} {
		limited, mine := i < 3, fmt.Sprint("mine-", i)
		if got := f.asKey(accesskey.RoleSubmit, limit, "", "CreateService", `{"serviceName":"`+mine+`","taskDefinition":"tensorflow-1-gpu:1","desiredCount":1}`); got.err != nil {
			t.Fatal(got.err)
		}
		for _, c := range []struct {
			service, change string
			denied          bool
		}{
			{"root", `"desiredCount":3`, limited}, {"root", `"taskDefinition":"tensorflow-1-gpu:2"`, limited},
			{"root", `"forceNewDeployment":true`, limited}, {"root", `"deploymentConfiguration":{"maximumPercent":400}`, limited},
			{"root", `"desiredCount":1`, false}, {mine, `"desiredCount":9`, false}, {mine, `"taskDefinition":"tensorflow-1-gpu:2"`, false},
		} {
			got := f.asKey(accesskey.RoleSubmit, limit, "", "UpdateService", `{"service":"`+c.service+`",`+c.change+`}`)
			if denied := errorType(got.err) == wire.AccessDenied; denied != c.denied || !denied && got.err != nil {
				t.Errorf("%+v: %s %s: %v", limit, c.service, c.change, got.err)
			}
			f.must(t, "UpdateService", `{"service":"root","taskDefinition":"tensorflow-1-gpu:1","desiredCount":2}`)
		}
	}
}
