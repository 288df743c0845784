package rest

import (
	"net/http"
	"reflect"

	"pinion/api/leader"
	"pinion/raftfsm/spec"
)

var (
	clusterParameter = Parameter{"cluster", "only of this cluster, by name"}
	staleParameter   = Parameter{"stale", "true: from this host's own copy, which may lag behind but needs no leader"}
)

// Routes is the table of the routes that need an access key.
func (a *API) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	const read, admin = spec.RoleRead, spec.RoleAdmin
	return []Route{
		{Method: get, Path: "/v1/hosts", Role: read, Summary: "the hosts with what they have and what is free", Query: []Parameter{clusterParameter, staleParameter},
			Out: reflect.TypeFor[[]hostView](), Mode: leader.StaleAllowed, Serve: a.listHosts},
		{Method: get, Path: "/v1/gpus", Role: read, Summary: "every GPU with its health and the task that has it", Query: []Parameter{clusterParameter, staleParameter},
			Out: reflect.TypeFor[[]gpuView](), Mode: leader.StaleAllowed, Serve: a.listGPUs},
		{Method: get, Path: "/v1/tasks/{id}/logs", Role: read, Summary: "a task's log, one JSON object on each line; bare text with Accept: text/plain",
			Query: []Parameter{{"container", "only of this one"}, {"tail", "only the last so many lines"}, {"since", "a time, or an age such as 10m"},
				{"follow", "1: go on as lines come"}, staleParameter}, Mode: leader.StaleAllowed, Serve: a.onTaskHost(a.logs), Task: a.logs},
		{Method: get, Path: "/v1/tasks/{id}/pulls", Role: read, Summary: "how far the image pulls of a task have come", Query: []Parameter{staleParameter},
			Out: reflect.TypeFor[[]pull](), Mode: leader.StaleAllowed, Serve: a.onTaskHost(a.pulls), Task: a.pulls},
		{Method: get, Path: "/v1/tasks/{id}/explain", Role: read, Summary: "why a task is where it is: what each host says, who has what it waits for, when it can start",
			Query: []Parameter{{"brief", "true: without what each host says; of a task that waits only its place in the queue, and what makes it impossible"}},
			Out:   reflect.TypeFor[explanation](), Serve: a.explainTask},
		{Method: get, Path: "/v1/queue", Role: read, Summary: "the tasks that wait for a place, in their order", Query: []Parameter{clusterParameter},
			Out: reflect.TypeFor[[]queued](), Serve: a.listQueue},

		{Method: get, Path: "/v1/teams", Role: read, Summary: "the teams with their quotas, their weights and the GPUs that they use", Query: []Parameter{staleParameter},
			Out: reflect.TypeFor[[]teamView](), Mode: leader.StaleAllowed, Serve: a.listTeams},
		{Method: post, Path: "/v1/admin/teams", Role: admin, Summary: "sets the quota or the weight of a team",
			In: reflect.TypeFor[teamInput](), Out: reflect.TypeFor[teamView](), Serve: a.putTeam},
		{Method: post, Path: "/v1/admin/teams/remove", Role: admin, Summary: "forgets the quota and the weight of a team",
			In: reflect.TypeFor[teamInput](), Out: reflect.TypeFor[struct{}](), Serve: a.removeTeam},

		{Method: get, Path: "/v1/admin/keys", Role: admin, Summary: "the access keys, without their secrets",
			Out: reflect.TypeFor[[]keyView](), Serve: a.listKeys},
		{Method: post, Path: "/v1/admin/keys", Role: admin, Summary: "makes an access key; the only answer with its secret",
			In: reflect.TypeFor[keyInput](), Out: reflect.TypeFor[newKeyView](), Serve: a.createKey},
		{Method: post, Path: "/v1/admin/keys/remove", Role: admin, Summary: "ends an access key at once",
			In: reflect.TypeFor[idInput](), Out: reflect.TypeFor[struct{}](), Serve: a.removeKey},
		{Method: get, Path: "/v1/admin/tokens", Role: admin, Summary: "the join tokens, without their secrets",
			Out: reflect.TypeFor[[]tokenView](), Serve: a.listTokens},
		{Method: post, Path: "/v1/admin/tokens", Role: admin, Summary: "makes a join token",
			In: reflect.TypeFor[tokenInput](), Out: reflect.TypeFor[newTokenView](), Serve: a.createToken},
		{Method: post, Path: "/v1/admin/tokens/revoke", Role: admin, Summary: "ends a join token",
			In: reflect.TypeFor[idInput](), Out: reflect.TypeFor[struct{}](), Serve: a.revokeToken},
		{Method: post, Path: "/v1/admin/hosts/{change}", Role: admin, Summary: "changes a host: remove, promote or demote",
			In: reflect.TypeFor[hostInput](), Out: reflect.TypeFor[struct{}](), Serve: a.changeHost},
		{Method: get, Path: "/v1/admin/snapshot", Role: admin, Summary: "the whole state as a file that tells by itself whether it is whole",
			Serve: a.snapshot},
		{Method: get, Path: "/v1/admin/digest", Role: admin, Summary: "a sum of this host's own state, to compare servers by",
			Out: reflect.TypeFor[digestView](), Mode: leader.LocalOnly, Serve: a.checksum},
	}
}

// OpenRoutes is the table of the routes that need no access key.
func (a *API) OpenRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/v1/version", Summary: "which pinion this is", Out: reflect.TypeFor[versionView](), Serve: a.version},
		{Method: http.MethodGet, Path: "/healthz", Summary: "200 while this host can answer for its pool, 503 otherwise", Out: reflect.TypeFor[healthView](), Serve: a.health},
	}
}

// EventsRoute is the route of the stream of events, which package events serves.
func EventsRoute(serve Handler) Route {
	return Route{Method: http.MethodGet, Path: "/v1/events", Role: spec.RoleRead, Summary: "what changes, as it changes: server-sent events in EventBridge's envelopes",
		Query: []Parameter{clusterParameter, {"type", "only of these kinds, with commas between: task, host, cluster, gpu"},
			{"since", "go on after this id of an event, or this index; from now on without it. The header Last-Event-ID means the same and counts first"},
			{"follow", "false: only what is remembered, from the oldest on without since"}}, Mode: leader.LocalFirst, Serve: serve}
}
