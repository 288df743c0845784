package ecs

import (
	"fmt"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/capacityprovider"
)

const (
	client       = "ClientException"
	noProvider   = "The specified capacity provider does not exist. Specify a valid name or ARN and try again."
	isBuiltIn    = "The capacity provider PINION is built in: it can be neither changed nor deleted."
	notOfCluster = "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again."
)

// The life of a queue, each answer with every byte of it.
func TestTheLifeOfACapacityProvider(t *testing.T) {
	b := newFixture(t)
	step := func(name, operation, body string) {
		t.Helper()
		b.must(t, operation, body).golden(t, name)
	}
	step("create-capacity-provider", "CreateCapacityProvider", `{"name":"night","autoScalingGroupProvider":{"autoScalingGroupArn":"asg","managedScaling":{"targetCapacity":80}},"tags":[{"key":"team","value":"vision"}]}`)
	step("update-capacity-provider", "UpdateCapacityProvider", `{"name":"night","autoScalingGroupProvider":{"managedScaling":{"maximumScalingStepSize":4},"managedTerminationProtection":"ENABLED"}}`)
	step("describe-capacity-providers", "DescribeCapacityProviders", `{"include":["TAGS"]}`)
	step("put-cluster-capacity-providers", "PutClusterCapacityProviders", `{"cluster":"default","capacityProviders":["PINION","`+arnPrefix+`capacity-provider/night"],"defaultCapacityProviderStrategy":[{"capacityProvider":"night","weight":1,"base":2},{"capacityProvider":"PINION"}]}`)
	step("describe-clusters-attachments", "DescribeClusters", `{"include":["ATTACHMENTS"]}`)

	b.call("DeleteCapacityProvider", `{"capacityProvider":"night"}`).wantError(t, client, `The specified capacity provider is in use and cannot be removed: capacity provider "night": in use: cluster default names it, take it from there first.`)
	b.must(t, "PutClusterCapacityProviders", `{"cluster":"default","capacityProviders":[],"defaultCapacityProviderStrategy":[]}`)
	step("delete-capacity-provider", "DeleteCapacityProvider", `{"capacityProvider":"`+arnPrefix+`capacity-provider/night"}`)
	b.must(t, "DeleteCapacityProvider", `{"capacityProvider":"night"}`) // the retry of a client that did not hear the answer
	step("describe-capacity-providers-deleted", "DescribeCapacityProviders", `{"capacityProviders":["night","day"]}`)
	b.must(t, "CreateCapacityProvider", `{"name":"night"}`)
}

// One that was made by its name alone is a queue as the built-in one.
func TestACapacityProviderNeedsNoScalingGroup(t *testing.T) {
	b := newFixture(t)
	got := b.must(t, "CreateCapacityProvider", `{"name":"night"}`).Body.String()
	if !strings.Contains(got, `"autoScalingGroupArn":"night","managedScaling":{"status":"ENABLED"`) {
		t.Errorf("%s", got)
	}
	got = b.must(t, "UpdateCapacityProvider", `{"name":"night","autoScalingGroupProvider":{"managedDraining":"DISABLED"}}`).Body.String()
	if !strings.Contains(got, `"managedDraining":"DISABLED"`) || !strings.Contains(got, `"status":"ENABLED"`) {
		t.Errorf("%s", got)
	}
}

func TestWhatACapacityProviderCannotBe(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCapacityProvider", `{"name":"night"}`)
	group := func(fields string) string {
		return `{"name":"x","autoScalingGroupProvider":{"autoScalingGroupArn":"asg",` + fields + `}}`
	}
	for _, c := range []struct{ operation, body, kind, message string }{
		{"CreateCapacityProvider", `{"name":"a b"}`, invalid, `name must be 1 to 255 letters, digits, hyphens and underscores that do not begin with aws, ecs or fargate, not "a b".`},
		{"CreateCapacityProvider", `{"name":"FARGATE_SPOT"}`, invalid, `name must be 1 to 255 letters, digits, hyphens and underscores that do not begin with aws, ecs or fargate, not "FARGATE_SPOT".`},
		{"CreateCapacityProvider", `{"name":"night"}`, client, "The specified capacity provider already exists. To change the configuration of an existing capacity provider, update the capacity provider."},
		{"CreateCapacityProvider", `{"name":"PINION"}`, client, "The specified capacity provider already exists. To change the configuration of an existing capacity provider, update the capacity provider."},
		{"CreateCapacityProvider", `{"name":"x","tags":[]}`, invalid, "Tags can not be empty."},
		{"CreateCapacityProvider", `{"name":"x","cluster":"default"}`, client, "cluster is not supported by Pinion yet: a capacity provider is for all clusters here; PutClusterCapacityProviders says which use it. Remove the field."},
		{"CreateCapacityProvider", `{"name":"x","managedInstancesProvider":{"propagateTags":"NONE"}}`, client, "managedInstancesProvider is not supported by Pinion yet: machines are your own here; give autoScalingGroupProvider, or the name alone. Remove the field."},
		{"CreateCapacityProvider", `{"name":"x","autoScalingGroupProvider":{}}`, invalid, "autoScalingGroupProvider.autoScalingGroupArn must name a group: its ARN or its name."},
		{"CreateCapacityProvider", group(`"managedDraining":"MAYBE"`), invalid, `managedDraining must be one of ENABLED, DISABLED, not "MAYBE"`},
		{"CreateCapacityProvider", group(`"managedScaling":{"status":"ON"}`), invalid, `managedScaling.status must be one of ENABLED, DISABLED, not "ON"`},
		{"CreateCapacityProvider", group(`"managedScaling":{"targetCapacity":0}`), invalid, "managedScaling.targetCapacity must be between 1 and 100, not 0."},
		{"CreateCapacityProvider", group(`"managedScaling":{"minimumScalingStepSize":5,"maximumScalingStepSize":4}`), invalid, "managedScaling.minimumScalingStepSize is 5, which is more than maximumScalingStepSize, 4."},
		{"CreateCapacityProvider", group(`"managedTerminationProtection":"ENABLED"`), invalid, "managedTerminationProtection ENABLED needs managedScaling with status ENABLED."},
		{"UpdateCapacityProvider", `{"name":"day","autoScalingGroupProvider":{}}`, client, noProvider},
		{"UpdateCapacityProvider", `{"name":"PINION","autoScalingGroupProvider":{}}`, client, isBuiltIn},
		{"UpdateCapacityProvider", `{"name":"night"}`, invalid, "autoScalingGroupProvider must be given: it is what can be changed."},
		{"DeleteCapacityProvider", `{"capacityProvider":"day"}`, client, noProvider},
		{"DeleteCapacityProvider", `{"capacityProvider":"PINION"}`, client, isBuiltIn},
		{"DescribeCapacityProviders", `{"maxResults":11}`, invalid, "maxResults must be between 1 and 10, not 11"},
		{"DescribeCapacityProviders", `{"cluster":"nope"}`, noCluster, "Cluster not found."},
		{"PutClusterCapacityProviders", `{"cluster":"nope","capacityProviders":[],"defaultCapacityProviderStrategy":[]}`, noCluster, "Cluster not found."},
		{"PutClusterCapacityProviders", `{"capacityProviders":["night"]}`, invalid, "capacityProviders and defaultCapacityProviderStrategy must both be given; [] is for none."},
		{"PutClusterCapacityProviders", puts(`"day"`, ``), invalid, "The specified capacity provider 'day' was not found. Specify a valid capacity provider and try again."},
		{"PutClusterCapacityProviders", puts(`"FARGATE"`, ``), invalid, "The capacity provider FARGATE is not supported: Pinion runs tasks on your own hosts."},
		{"PutClusterCapacityProviders", puts(`"PINION"`, `{"capacityProvider":"night"}`), invalid, notOfCluster},
		{"PutClusterCapacityProviders", puts(`"night"`, `{"capacityProvider":"night","weight":1001}`), invalid, "defaultCapacityProviderStrategy.weight must be between 0 and 1000, not 1001."},
		{"PutClusterCapacityProviders", puts(`"night"`, `{"capacityProvider":"night","base":-1}`), invalid, "defaultCapacityProviderStrategy.base must be between 0 and 100000, not -1."},
		{"PutClusterCapacityProviders", puts(`"night"`, `{"capacityProvider":"night"},{"capacityProvider":"night"}`), invalid, "defaultCapacityProviderStrategy names the capacity provider night twice."},
		{"PutClusterCapacityProviders", puts(`"night","PINION"`, `{"capacityProvider":"night","base":1},{"capacityProvider":"PINION","base":1}`), invalid, "defaultCapacityProviderStrategy: only one capacity provider can have a base."},
		{"PutClusterCapacityProviders", puts(strings.Repeat(`"night",`, 20)+`"night"`, ``), invalid, "capacityProviders can have at most 20 items, not 21."},
	} {
		b.call(c.operation, c.body).wantError(t, c.kind, c.message)
	}
}

// puts is the body of a PutClusterCapacityProviders.
func puts(names, strategy string) string {
	return `{"cluster":"default","capacityProviders":[` + names + `],"defaultCapacityProviderStrategy":[` + strategy + `]}`
}

func TestAPoolHasSoManyCapacityProviders(t *testing.T) {
	b := newFixture(t)
	for i := range 100 {
		b.mustApply(t, raftfsm.Wrap(capacityprovider.Create{Provider: capacityprovider.Provider{Name: fmt.Sprintf("p%02d", i)}}))
	}
	b.call("CreateCapacityProvider", `{"name":"x"}`).wantError(t, "LimitExceededException", "A pool can have 100 capacity providers: delete some first.")
	var page struct {
		Providers []struct{ Name string } `json:"capacityProviders"`
		Next      string                  `json:"nextToken"`
	}
	seen, body := 0, `{}`
	for pages := 1; ; pages++ {
		page.Next = ""
		b.must(t, "DescribeCapacityProviders", body).decode(t, &page)
		seen += len(page.Providers)
		if page.Next == "" {
			if seen != 101 || pages != 11 {
				t.Errorf("%d providers on %d pages", seen, pages)
			}
			return
		}
		body = `{"nextToken":"` + page.Next + `"}`
	}
}
