package api

import (
	"fmt"
	"testing"

	"pinion/api/httpx"
	"pinion/raftfsm/team"
)

func TestATeamHasAQuotaAndAWeight(t *testing.T) {
	b := ready(t)
	if got := b.rest("admin/teams", `{"name":"vision","gpus":16}`).Body.String(); got != `{"name":"vision","gpus":16,"weight":1,"gpusInUse":0}` {
		t.Errorf("%s", got)
	}
	if got := b.rest("admin/teams", `{"name":"vision","weight":2}`).Body.String(); got != `{"name":"vision","gpus":16,"weight":2,"gpusInUse":0}` {
		t.Errorf("what is not given stays: %s", got)
	}
	for _, team := range []string{"vision", "speech"} {
		b.run(t, `{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"pinion.team","value":"`+team+`"}]}`)
	}
	if got := b.get("/v1/teams").Body.String(); got != `[{"name":"speech","weight":1,"gpusInUse":1},{"name":"vision","gpus":16,"weight":2,"gpusInUse":1}]` {
		t.Errorf("%s", got)
	}
	for body, message := range map[string]string{
		`{"gpus":1}`:                   `name must be given; "" is the team of tasks that name none.`,
		`{"name":"vision"}`:            `Give gpus, weight or both of team "vision".`,
		`{"name":"vision","gpus":-1}`:  "gpus must be a number of GPUs from 0, not -1.",
		`{"name":"vision","weight":0}`: fmt.Sprintf("weight must be between 1 and %d, not 0.", team.MaxWeight),
		`{"name":"a*","weight":1}`:     `the value of tag "pinion.team" must be of letters, numbers, blanks and _ . : / = + - @, not "a*"`,
	} {
		b.rest("admin/teams", body).wantError(t, 400, invalid, message)
	}
	if got := b.rest("admin/teams/remove", `{"name":"vision"}`); got.Code != 200 {
		t.Errorf("%s", got.Body)
	}
	b.rest("admin/teams/remove", `{"name":"vision"}`).wantError(t, 404, httpx.NotFound, `There is no quota or weight of a team "vision".`)
}
