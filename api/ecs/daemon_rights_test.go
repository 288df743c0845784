package ecs

import (
	"slices"
	"strings"
	"testing"

	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// A key for another cluster has no part in a daemon, by whatever operation.
func TestAKeyForAnotherClusterHasNoPartInADaemon(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	mine := strings.Replace(agents, "agents", "mine", 1)
	if got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", "RegisterDaemonTaskDefinition", mine); got.err != nil {
		t.Fatal(got.err)
	}
	const ofMine = `"daemonTaskDefinitionArn":"mine:1","capacityProviderArns":["PINION"],"critical":false`
	before := f.index
	for _, c := range []struct{ operation, body string }{
		{"CreateDaemon", `{"daemonName":"x",` + ofMine + `}`}, {"CreateDaemon", `{"daemonName":"x","clusterArn":"default",` + ofMine + `}`},
		{"CreateDaemon", `{"daemonName":"x","clusterArn":"` + arnPrefix + `cluster/default",` + ofMine + `}`},
		{"CreateDaemon", `{"daemonName":"x","clusterArn":"lab",` + running + `}`},
		{"CreateDaemon", `{"daemonName":"x","clusterArn":"lab","daemonTaskDefinitionArn":"agents","capacityProviderArns":["PINION"]}`},
		{"UpdateDaemon", `{"daemonArn":"` + daemonARN + `",` + ofMine + `}`}, {"DeleteDaemon", theDaemon}, {"DescribeDaemon", theDaemon}, {"ListDaemonDeployments", theDaemon},
		{"ListDaemons", `{}`}, {"ListDaemons", `{"clusterArn":"default"}`}, {"ListTasks", `{"daemonName":"agent"}`},
		{"DescribeDaemonDeployments", `{"daemonDeploymentArns":["` + arnPrefix + `daemon-deployment/default/agent/x"]}`},
		{"DescribeDaemonRevisions", `{"daemonRevisionArns":["` + arnPrefix + `daemon-revision/default/agent/1"]}`},
		{"DescribeDaemonTaskDefinition", `{"daemonTaskDefinition":"agents"}`}, {"DescribeDaemonTaskDefinition", `{"daemonTaskDefinition":"` + arnPrefix + `daemon-task-definition/agents:1"}`},
		{"DeleteDaemonTaskDefinition", `{"daemonTaskDefinition":"agents:1"}`}, {"RegisterDaemonTaskDefinition", agents},
		{"TagResource", `{"resourceArn":"` + daemonARN + `","tags":[{"key":"a","value":"b"}]}`},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `daemon-task-definition/agents:1","tags":[{"key":"pinion.share","value":"lab"}]}`},
		{"UntagResource", `{"resourceArn":"` + daemonARN + `","tagKeys":["a"]}`}, {"ListTagsForResource", `{"resourceArn":"` + daemonARN + `"}`},
		{"ListTagsForResource", `{"resourceArn":"` + arnPrefix + `daemon-task-definition/agents:1"}`},
	} {
		if got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", c.operation, c.body); errorType(got.err) != wire.AccessDenied || f.index != before {
			t.Errorf("%s %s: %v", c.operation, c.body, got.err)
		}
	}
	for _, c := range []struct{ operation, body string }{
		{"CreateDaemon", `{"daemonName":"x","clusterArn":"lab",` + ofMine + `}`}, {"ListDaemons", `{"clusterArn":"lab"}`}, {"ListDaemonTaskDefinitions", `{}`},
		{"UpdateDaemon", `{"daemonArn":"` + arnPrefix + `daemon/lab/x",` + ofMine + `}`}, {"DescribeDaemonTaskDefinition", `{"daemonTaskDefinition":"mine"}`},
		{"DeleteDaemon", `{"daemonArn":"` + arnPrefix + `daemon/lab/x"}`},
	} {
		if got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", c.operation, c.body); got.err != nil {
			t.Errorf("%s %s: %v", c.operation, c.body, got.err)
		}
	}
}

// The tasks of a daemon count for a team, so a key for a team makes daemons of it alone, and knows of no others.
func TestAKeyForATeamHasDaemonsOfIt(t *testing.T) {
	f := readyForDaemons(t)
	ten := 10
	vision := accesskey.Grant{Teams: []string{"vision"}, MaxPriority: &ten}
	f.must(t, "CreateDaemon", `{"daemonName":"other",`+running+`,"tags":[{"key":"pinion.team","value":"speech"}]}`)
	const other = `{"daemonArn":"` + arnPrefix + `daemon/default/other"`
	for _, c := range []struct{ operation, body, want string }{
		{"CreateDaemon", `{"daemonName":"agent",` + running + `}`, ""},
		{"CreateDaemon", `{"daemonName":"x",` + running + `,"tags":[{"key":"pinion.team","value":"speech"}]}`, wire.AccessDenied},
		{"CreateDaemon", `{"daemonName":"x",` + running + `,"tags":[{"key":"pinion.priority","value":"11"}]}`, wire.AccessDenied},
		{"DescribeDaemon", other + `}`, noDaemon}, {"UpdateDaemon", other + `,` + running + `}`, noDaemon}, {"DeleteDaemon", other + `}`, noDaemon},
		{"ListDaemonDeployments", other + `}`, invalid},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `daemon/default/other","tags":[{"key":"a","value":"b"}]}`, resourceNotFound},
		{"TagResource", `{"resourceArn":"` + daemonARN + `","tags":[{"key":"pinion.team","value":"speech"}]}`, wire.AccessDenied},
		{"TagResource", `{"resourceArn":"` + daemonARN + `","tags":[{"key":"pinion.priority","value":"11"}]}`, wire.AccessDenied},
		{"UpdateDaemon", `{"daemonArn":"` + daemonARN + `",` + running + `}`, ""},
	} {
		if got := errorType(f.asKey(accesskey.RoleSubmit, vision, "", c.operation, c.body).err); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.operation, c.body, got, c.want)
		}
	}
	if tags := f.agent().Tags; !slices.Contains(tags, spec.Tag{Key: spec.TagTeam, Value: "vision"}) {
		t.Errorf("its tasks count for no team: %v", tags)
	}
}

// Who updates a daemon of an administrator does not have its tasks ask for what only an administrator can; who has limits has nothing run that
// counts for others.
func TestWhoMayHaveADaemonAskForPowers(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "RegisterDaemonTaskDefinition", strings.Replace(agents, `"memory"`, `"privileged":true,"memory"`, 1))
	for role, name := range map[accesskey.Role]string{accesskey.RoleAdmin: "admins", accesskey.RoleSubmit: "mine"} {
		if got := f.asKey(role, accesskey.Grant{}, "", "CreateDaemon", `{"daemonName":"`+name+`",`+running+`}`); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if s := f.state.View().Service("default", "daemon/mine"); s.ByAdmin || s.Owner == nil || s.Owner.Key != "AKIA1" {
		t.Errorf("%+v", s)
	}
	f.must(t, "CreateDaemon", `{"daemonName":"roots",`+running+`}`)
	for _, c := range []struct {
		role     accesskey.Role
		grant    accesskey.Grant
		name, to string
		want     string
	}{
		{accesskey.RoleSubmit, accesskey.Grant{}, "admins", "agents:2", wire.AccessDenied}, {accesskey.RoleSubmit, accesskey.Grant{}, "admins", "agents:1", ""},
		{accesskey.RoleAdmin, accesskey.Grant{}, "admins", "agents:2", ""}, {accesskey.RoleSubmit, accesskey.Grant{}, "mine", "agents:2", ""},
		{accesskey.RoleSubmit, accesskey.Grant{MaxTasks: 1}, "roots", "agents:1", wire.AccessDenied}, {accesskey.RoleSubmit, accesskey.Grant{MaxTasks: 1}, "mine", "agents:1", ""},
	} {
		body := `{"daemonArn":"` + arnPrefix + `daemon/default/` + c.name + `","daemonTaskDefinitionArn":"` + c.to + `","capacityProviderArns":["PINION"]}`
		if got := errorType(f.asKey(c.role, c.grant, "", "UpdateDaemon", body).err); got != c.want {
			t.Errorf("%s updates %s to %s: %q, want %q", c.role, c.name, c.to, got, c.want)
		}
	}
}

// Without a critical daemon a host takes no tasks, and those of others stop when it fails: only an administrator makes a daemon critical, which a new
// one is where nothing is said, or changes or ends one that is. An update that does not say it leaves it as it was.
func TestOnlyAnAdministratorMakesADaemonCritical(t *testing.T) {
	f := readyForDaemons(t)
	for _, c := range []struct {
		role       accesskey.Role
		name, says string
		denied     string
	}{
		{accesskey.RoleSubmit, "mine", `"critical":true,`, wire.AccessDenied}, {accesskey.RoleSubmit, "mine", ``, wire.AccessDenied},
		{accesskey.RoleSubmit, "mine", `"critical":false,`, ""}, {accesskey.RoleAdmin, "agent", ``, ""},
	} {
		if got := errorType(f.asKey(c.role, accesskey.Grant{}, "", "CreateDaemon", `{"daemonName":"`+c.name+`",`+c.says+critical+`}`).err); got != c.denied {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := errorType(f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "", "DeleteDaemon", theDaemon).err); got != wire.AccessDenied {
		t.Errorf("a key that submits ends it: %q", got)
	}
	for _, c := range []struct {
		role         accesskey.Role
		says, denied string
		critical     bool
	}{
		{accesskey.RoleSubmit, ``, wire.AccessDenied, true}, {accesskey.RoleSubmit, `"critical":false,`, wire.AccessDenied, true}, {accesskey.RoleAdmin, ``, "", true},
		{accesskey.RoleAdmin, `"critical":false,`, "", false}, {accesskey.RoleSubmit, ``, "", false}, {accesskey.RoleSubmit, `"critical":true,`, wire.AccessDenied, false},
	} {
		if got := errorType(f.asKey(c.role, accesskey.Grant{}, "", "UpdateDaemon", `{"daemonArn":"`+daemonARN+`",`+c.says+critical+`}`).err); got != c.denied {
			t.Errorf("%+v: %q", c, got)
		}
		s := f.state.View().Service("default", "daemon/agent")
		var shown struct{ DaemonRevisions []struct{ Critical bool } }
		f.must(t, "DescribeDaemonRevisions", `{"daemonRevisionArns":["`+arnPrefix+`daemon-revision/default/agent/`+s.Primary().ID+`"]}`).decode(t, &shown)
		if len(shown.DaemonRevisions) != 1 || shown.DaemonRevisions[0].Critical != c.critical {
			t.Errorf("%+v: shown is %+v", c, shown)
		}
	}
}
