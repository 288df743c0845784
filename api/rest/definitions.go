package rest

import (
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// maxListedDefinitions bounds the definitions of a page.
const maxListedDefinitions = 1000

// listedDefinition is what lists show of a task definition; DescribeTaskDefinition has the rest.
type listedDefinition struct {
	Family       string    `json:"family"`
	Revision     int       `json:"revision"`
	Revisions    int       `json:"revisions,omitempty"` // of the family that can be run; absent in a list of revisions
	Clusters     []string  `json:"clusters,omitempty"`  // that the family belongs to; absent: the whole pool
	Images       []string  `json:"images"`              // of its containers, each once
	GPUs         int       `json:"gpus"`                // of a task
	RegisteredAt time.Time `json:"registeredAt"`
	RegisteredBy string    `json:"registeredBy,omitempty"`
}

// definitionsView is a page of definitions.
type definitionsView struct {
	Definitions []listedDefinition `json:"definitions"`
	Next        string             `json:"next,omitempty"` // for ?after= of the next page; absent: there is none
}

// definitionList serves the list of task definitions.
type definitionList struct{}

func (l definitionList) routes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/v1/definitions", Role: accesskey.RoleRead, Scope: perResource,
		Summary: "the newest revision of each family of task definitions that can be run, by name, with what lists show of it",
		Query:   []Parameter{{"family", "instead the revisions of this family, the newest first"}, {"after", "next of the page before"}, staleParameter},
		Out:     reflect.TypeFor[definitionsView](), Mode: leader.StaleAllowed, Serve: l.list}}
}

func (l definitionList) list(x *httpx.Exchange, res leader.Resolution) error {
	query := x.Request.URL.Query()
	page := definitionsView{Definitions: []listedDefinition{}}
	if family := query.Get("family"); family != "" {
		page.addRevisions(res, family, query.Get("after"))
	} else {
		page.addFamilies(res, query.Get("after"))
	}
	return reply(x, page)
}

// addRevisions adds the revisions of a family before the one named after.
func (p *definitionsView) addRevisions(res leader.Resolution, family, after string) {
	from := math.MaxInt
	if before, err := strconv.Atoi(after); err == nil {
		from = before - 1
	}
	for d := range res.View.DefinitionsFrom(spec.DefinitionActive, family, from, true) {
		switch last := len(p.Definitions) - 1; {
		case d.Family != family:
			return
		case last+1 == maxListedDefinitions:
			p.Next = strconv.Itoa(p.Definitions[last].Revision)
			return
		case res.Principal.Clusters.MayUse(res.View, d):
			p.Definitions = append(p.Definitions, listed(res, d))
		}
	}
}

// addFamilies adds the families after the one named.
func (p *definitionsView) addFamilies(res leader.Resolution, after string) {
	var newest []*spec.TaskDefinition // of each family
	revisions := map[string]int{}
	for d := range res.View.DefinitionsFrom(spec.DefinitionActive, after, math.MaxInt, false) {
		last := len(newest) - 1
		if d.Family == after || !res.Principal.Clusters.MayUse(res.View, d) {
			continue
		}
		if last >= 0 && newest[last].Family == d.Family { // by revision: this one is newer
			newest[last] = d
		} else if len(newest) < maxListedDefinitions {
			newest = append(newest, d)
		} else {
			p.Next = newest[last].Family
			break
		}
		revisions[d.Family]++
	}
	for _, d := range newest {
		item := listed(res, d)
		item.Revisions = revisions[d.Family]
		p.Definitions = append(p.Definitions, item)
	}
}

func listed(res leader.Resolution, d *spec.TaskDefinition) listedDefinition {
	demand := spec.DemandOf(d)
	owners, _ := res.View.FamilyClusters(d.Family)
	out := listedDefinition{Family: d.Family, Revision: d.Revision, Images: []string{}, GPUs: demand.TotalGPUs(), RegisteredAt: d.RegisteredAt, RegisteredBy: d.RegisteredBy}
	if owners != "" {
		out.Clusters = strings.Split(string(owners), ",")
	}
	for _, c := range d.Containers {
		if !slices.Contains(out.Images, c.Image) {
			out.Images = append(out.Images, c.Image)
		}
	}
	return out
}
