package ecs

import (
	"fmt"
	"strings"
	"testing"

	"pinion/raftfsm"
)

func TestCustomAttributesOfAHost(t *testing.T) {
	b := newFixture(t)
	arn := arnPrefix + "container-instance/default/" + hostID
	b.must(t, "PutAttributes", `{"attributes":[{"name":"stack","value":"production","targetId":"`+arn+`"},{"name":"spot","targetType":"container-instance","targetId":"`+hostID+`"}]}`).golden(t, "put-attributes")
	b.must(t, "ListAttributes", `{"targetType":"container-instance"}`).golden(t, "list-attributes")
	if got := b.must(t, "ListContainerInstances", `{"filter":"attribute:stack == production and attribute:spot exists"}`).Body.String(); !strings.Contains(got, hostID) {
		t.Errorf("the host does not carry them: %s", got)
	}
	if got := b.must(t, "ListAttributes", `{"targetType":"container-instance","attributeName":"stack","attributeValue":"test"}`).Body.String(); got != `{"attributes":[]}` {
		t.Errorf("%s", got)
	}
	deleted := b.must(t, "DeleteAttributes", `{"attributes":[{"name":"stack","targetId":"`+arn+`"},{"name":"none","targetId":"`+hostID+`"}]}`).Body.String()
	if !strings.Contains(deleted, `{"name":"stack","value":"production",`) {
		t.Errorf("what was deleted is not said: %s", deleted)
	}
	if got := b.must(t, "ListAttributes", `{"targetType":"container-instance","attributeName":"stack"}`).Body.String(); got != `{"attributes":[]}` {
		t.Errorf("%s", got)
	}
}

func TestAttributesArePaged(t *testing.T) {
	b := newFixture(t)
	b.mustApply(t, raftfsm.PutHost{Host: newHost(strings.Repeat("b", 32), "gpu-2", 0)})
	token, seen := "", map[string]bool{}
	for {
		var page struct {
			Attributes []struct{ Name, TargetID string }
			NextToken  string
		}
		b.must(t, "ListAttributes", `{"targetType":"container-instance","maxResults":3,"nextToken":"`+token+`"}`).decode(t, &page)
		for _, a := range page.Attributes {
			seen[a.TargetID+a.Name] = true
		}
		if token = page.NextToken; token == "" {
			break
		}
	}
	want := 0
	for _, h := range b.state.View().Hosts("") {
		want += len(h.AllAttributes())
	}
	if len(seen) != want {
		t.Errorf("paged over %d attributes, there are %d", len(seen), want)
	}
}

func TestWhatCannotBePutOnAHost(t *testing.T) {
	b := newFixture(t)
	const missing = "The specified target was not found. List the container instances of the cluster with ListContainerInstances."
	one := func(name, value, target string) string {
		return fmt.Sprintf(`{"name":%q,"value":%q,"targetId":%q}`, name, value, target)
	}
	ten := strings.Repeat(one("a", "b", hostID)+",", 10)
	for _, c := range []struct{ attributes, kind, message string }{
		{``, invalid, "Attributes cannot be empty."},
		{ten + one("a", "b", hostID), invalid, "attributes can have at most 10 items, not 11."},
		{one("a", "b", "nope"), "TargetNotFoundException", missing},
		{one("a", "b", ""), invalid, "targetId of attribute a must not be empty."},
		{one("", "b", hostID), invalid, `the name of an attribute must be 1 to 128 letters, digits and - _ . / \, not ""`},
		{one("a b", "b", hostID), invalid, `the name of an attribute must be 1 to 128 letters, digits and - _ . / \, not "a b"`},
		{one("a", " b", hostID), invalid, `the value of attribute a must be 1 to 128 letters, digits, blanks within and - _ . @ / \ :, not " b"`},
		{one("ecs.instance-type", "p5", hostID), invalid, "attribute ecs.instance-type is set where the host is started: pinion up --attribute ecs.instance-type=VALUE."},
		{one("pinion.gpu.count", "8", hostID), invalid, "attribute pinion.gpu.count follows from what the host is and cannot be changed."},
		{`{"name":"a","targetType":"task","targetId":"x"}`, invalid, `targetType must be one of container-instance, not "task"`},
	} {
		b.call("PutAttributes", `{"attributes":[`+c.attributes+`]}`).wantError(t, c.kind, c.message)
	}
	b.call("PutAttributes", `{"cluster":"nope"}`).wantError(t, noCluster, "Cluster not found.")
	b.call("ListAttributes", `{}`).wantError(t, invalid, `targetType must hold only container-instance, not ""`)
	b.call("ListAttributes", `{"targetType":"container-instance","attributeValue":"x"}`).wantError(t, invalid, "attributeValue needs an attributeName.")
}

func TestAHostCarriesTenCustomAttributes(t *testing.T) {
	b := newFixture(t)
	for i := range 10 {
		b.must(t, "PutAttributes", fmt.Sprintf(`{"attributes":[{"name":"a%d","value":"x","targetId":%q}]}`, i, hostID))
	}
	b.call("PutAttributes", `{"attributes":[{"name":"more","targetId":"`+hostID+`"}]}`).wantError(t, "AttributeLimitExceededException", "A container instance can have 10 custom attributes: delete some first.")
}

func TestWhatAHostSaysOfItselfIsNotDeleted(t *testing.T) {
	b := newFixture(t)
	own := newHost(hostID, "gpu-1", 4)
	own.Attributes["rack"] = "7"
	b.mustApply(t, raftfsm.PutHost{Host: own})
	body := `{"attributes":[{"name":"rack","value":"8","targetId":"` + hostID + `"}]}`
	b.call("DeleteAttributes", body).wantError(t, invalid, "attribute rack of gpu-1 is set by the host itself: start it without that --attribute.")
	b.must(t, "PutAttributes", body)
	b.call("DeleteAttributes", strings.Replace(body, "8", "9", 1)).wantError(t, invalid, `attribute rack of gpu-1 is "8", not "9": leave the value out to delete it whatever it is.`)
	b.must(t, "DeleteAttributes", body)
	if got := b.must(t, "ListAttributes", `{"targetType":"container-instance","attributeName":"rack"}`).Body.String(); !strings.Contains(got, `"value":"7"`) {
		t.Errorf("%s", got)
	}
}
