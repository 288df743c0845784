package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"

	"pinion/raftfsm/accesskey"
)

// listedDefinitions reads all pages of the list of definitions, as FAMILY:REVISION/REVISIONS.
func (b *fixture) listedDefinitions(t *testing.T, scope, query string) (names []string) {
	t.Helper()
	for after := ""; ; {
		var page struct {
			Definitions []struct {
				Family              string
				Revision, Revisions int
			}
			Next string
		}
		reply := b.serveAs(t, accesskey.RoleRead, scope, httptest.NewRequest("GET", "/v1/definitions?"+query+"after="+after, nil))
		if err := json.Unmarshal(reply.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, reply.Body)
		}
		for _, d := range page.Definitions {
			names = append(names, fmt.Sprintf("%s:%d/%d", d.Family, d.Revision, d.Revisions))
		}
		if after = page.Next; after == "" {
			return names
		}
	}
}

func TestDefinitionsAreListedByFamilyAndByRevision(t *testing.T) {
	b := newFixture(t)
	register := func(family string) {
		b.must(t, "RegisterTaskDefinition", `{"family":"`+family+`","containerDefinitions":[{"name":"c","image":"img","memory":64}]}`)
	}
	for i := range 1100 {
		register(fmt.Sprintf("family-%04d", i))
	}
	for range 3 {
		register("trainer")
	}
	b.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"trainer:3"}`)
	names := b.listedDefinitions(t, "", "")
	if n := len(names); n != 1101 || names[0] != "family-0000:1/1" || names[1000] != "family-1000:1/1" || names[1100] != "trainer:2/2" {
		t.Errorf("%d families: %v", n, names)
	}
	if got := fmt.Sprint(b.listedDefinitions(t, "", "family=trainer&")); got != "[trainer:2/0 trainer:1/0]" {
		t.Errorf("revisions that can be run, the newest first: %s", got)
	}
	if got := b.listedDefinitions(t, "", "family=train&"); got != nil {
		t.Errorf("the beginning of a name is no family: %s", got)
	}
}

// What a key of one cluster may not use is not listed to it.
func TestDefinitionsOfOtherClustersAreNotListed(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	definition := func(family string) string {
		return `{"family":"` + family + `","containerDefinitions":[{"name":"c","image":"img","memory":64}]}`
	}
	b.must(t, "RegisterTaskDefinition", definition("pool"))
	b.must(t, "RegisterTaskDefinition", `{"tags":[{"key":"pinion.share","value":"lab"}],`+definition("shared")[1:])
	if got := fmt.Sprint(b.listedDefinitions(t, "lab", "")); got != "[shared:1/1]" {
		t.Errorf("families that the key may use: %s", got)
	}
	if got := b.listedDefinitions(t, "lab", "family=pool&"); got != nil {
		t.Errorf("revisions of a family that it may not: %s", got)
	}
}
