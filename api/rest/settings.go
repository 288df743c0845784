package rest

import (
	"net/http"
	"reflect"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// settings serves the routes about the settings of the pool.
type settings struct{ store Store }

// settingsView is the settings of the pool, whichever host leads. Times are as in "90s" or "5m0s".
type settingsView struct {
	Servers      int    `json:"servers"`      // servers wanted: 1, 3 or 5
	ReplaceAfter string `json:"replaceAfter"` // a server that is unreachable for so long is replaced
	LostAfter    string `json:"lostAfter"`    // the tasks of a host that is unreachable for so long are marked STOPPED
}

// settingsInput changes the settings that it names and leaves the rest.
type settingsInput struct {
	Servers      int    `json:"servers"`
	ReplaceAfter string `json:"replaceAfter"`
	LostAfter    string `json:"lostAfter"`
}

func (a settings) routes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/v1/admin/settings", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "the settings of the pool",
			Out: reflect.TypeFor[settingsView](), Serve: a.show},
		{Method: http.MethodPost, Path: "/v1/admin/settings", Role: accesskey.RoleAdmin, Scope: poolWide, Summary: "changes settings of the pool while it runs",
			In: reflect.TypeFor[settingsInput](), Out: reflect.TypeFor[settingsView](), Serve: a.put},
	}
}

func newSettingsView(s spec.Settings) settingsView {
	return settingsView{s.Servers, s.ReplaceAfter.String(), s.TaskLostAfter.String()}
}

func (a settings) show(x *httpx.Exchange, res leader.Resolution) error {
	return reply(x, newSettingsView(res.View.Settings()))
}

func (a settings) put(x *httpx.Exchange, _ leader.Resolution) error {
	var in settingsInput
	if err := decode(x, &in); err != nil {
		return err
	}
	wanted := spec.Settings{Servers: in.Servers}
	for _, moment := range []struct {
		name, given string
		least       time.Duration
		into        *time.Duration
	}{{"replaceAfter", in.ReplaceAfter, time.Second, &wanted.ReplaceAfter}, {"lostAfter", in.LostAfter, spec.MinLostAfter, &wanted.TaskLostAfter}} {
		if moment.given == "" {
			continue
		}
		value, err := time.ParseDuration(moment.given)
		if err != nil || value < moment.least {
			return wire.Errorf(wire.InvalidParameter, "%s must be a time of %v or more, such as 90s or 5m, not %q.", moment.name, moment.least, moment.given)
		}
		*moment.into = value
	}
	if wanted == (spec.Settings{}) {
		return wire.Errorf(wire.InvalidParameter, "Give one of servers, replaceAfter and lostAfter.")
	}
	if err := wanted.Check(0); err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	answer, err := a.store.Propose(x.Context(), raftfsm.PutSettings{Settings: wanted})
	if err != nil {
		return err
	}
	return reply(x, newSettingsView(answer.(spec.Settings)))
}
