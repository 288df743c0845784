package rest

import (
	"net/http"
	"reflect"
	"slices"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
)

var (
	clusterParameter = Parameter{"cluster", "only of this cluster, by name"}
	staleParameter   = Parameter{"stale", "true: from this host's own copy, which may lag behind but needs no leader"}

	inCluster                       = auth.InCluster(clusterParameter.Name)
	poolWide, unscoped, perResource = auth.PoolWide, auth.Unscoped, auth.PerResource
)

// Routes is the table of the routes that need an access key.
func (a *API) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	const read, admin = accesskey.RoleRead, accesskey.RoleAdmin
	return slices.Concat([]Route{
		{Method: get, Path: "/v1/hosts", Role: read, Scope: inCluster, Summary: "hosts with their capacity and what of it is free", Query: []Parameter{clusterParameter, {"filter", "only those that an expression of the cluster query language selects"}, staleParameter},
			Out: reflect.TypeFor[[]hostView](), Mode: leader.StaleAllowed, List: true, Serve: a.listHosts},
		{Method: get, Path: "/v1/gpus", Role: read, Scope: inCluster, Summary: "GPUs with their health and the task that holds each", Query: []Parameter{clusterParameter, staleParameter},
			Out: reflect.TypeFor[[]gpuView](), Mode: leader.StaleAllowed, List: true, Serve: a.listGPUs},
		logRoute(a),
		{Method: get, Path: "/v1/tasks/{id}/pulls", Role: read, Scope: perResource, Summary: "progress of the image pulls of a task", Query: []Parameter{staleParameter},
			Out: reflect.TypeFor[[]pull](), Mode: leader.StaleAllowed, Serve: a.onTaskHost(a.pulls), Host: a.pulls},
		{Method: get, Path: "/v1/tasks/{id}/explain", Role: read, Scope: perResource, Summary: "why a task is where it is: why each host refuses it, which tasks hold what it needs, its earliest start",
			Query: []Parameter{{"brief", "true: without the hosts; of a pending task only its position in the queue, and whether any host could run it"}},
			Out:   reflect.TypeFor[explanation](), List: true, Serve: a.explainTask},
		{Method: get, Path: "/v1/queue", Role: read, Scope: inCluster, Summary: "pending tasks in queue order", Query: []Parameter{clusterParameter},
			Out: reflect.TypeFor[[]queued](), List: true, Serve: a.listQueue},

		{Method: get, Path: "/v1/teams", Role: read, Scope: unscoped, Summary: "teams with their quotas, weights and GPUs in use", Query: []Parameter{staleParameter},
			Out: reflect.TypeFor[[]teamView](), Mode: leader.StaleAllowed, Serve: a.listTeams},
		{Method: post, Path: "/v1/admin/teams", Role: admin, Scope: poolWide, Summary: "sets the quota or the weight of a team",
			In: reflect.TypeFor[teamInput](), Out: reflect.TypeFor[teamView](), Serve: a.putTeam},
		{Method: post, Path: "/v1/admin/teams/remove", Role: admin, Scope: poolWide, Summary: "removes the quota and the weight of a team",
			In: reflect.TypeFor[teamInput](), Out: reflect.TypeFor[struct{}](), Serve: a.removeTeam},

		{Method: get, Path: "/v1/admin/keys", Role: admin, Scope: poolWide, Summary: "the access keys, without their secrets",
			Out: reflect.TypeFor[[]keyView](), Serve: a.listKeys},
		{Method: post, Path: "/v1/admin/keys", Role: admin, Scope: poolWide, Summary: "creates an access key; the only answer with its secret",
			In: reflect.TypeFor[keyInput](), Out: reflect.TypeFor[newKeyView](), Serve: a.createKey},
		{Method: post, Path: "/v1/admin/keys/remove", Role: admin, Scope: poolWide, Summary: "removes an access key at once",
			In: reflect.TypeFor[idInput](), Out: reflect.TypeFor[struct{}](), Serve: a.removeKey},
		{Method: post, Path: "/v1/admin/sealing/rotate", Role: admin, Scope: poolWide, Summary: "replaces the key that secrets are sealed with, or goes on with it",
			Out: reflect.TypeFor[struct{}](), Serve: sealingKey{a.Admin.Keys}.rotate},
		{Method: get, Path: "/v1/admin/sealing", Role: admin, Scope: poolWide, Summary: "how far the replacement of the key is that secrets are sealed with",
			Out: reflect.TypeFor[sealingView](), Serve: sealingKey{a.Admin.Keys}.show},
		{Method: post, Path: "/v1/admin/ca/rotate", Role: admin, Scope: poolWide, Summary: "puts another root of the pool's CA in the place of the one that signs, or goes on with that",
			In: reflect.TypeFor[rotateCAInput](), Out: reflect.TypeFor[struct{}](), Serve: authority{a.Admin.Keys, a.Store}.rotate},
		{Method: get, Path: "/v1/admin/ca", Role: admin, Scope: poolWide, Summary: "the roots of the pool's CA, and the hosts that a rotation waits for",
			Out: reflect.TypeFor[caView](), Serve: authority{a.Admin.Keys, a.Store}.show},
		{Method: get, Path: "/v1/admin/limits", Role: admin, Scope: poolWide, Summary: "what the whole pool may hold, and what it holds",
			Out: reflect.TypeFor[limitsView](), Serve: a.showLimits},
		{Method: post, Path: "/v1/admin/limits", Role: admin, Scope: poolWide, Summary: "changes what the whole pool may hold",
			In: reflect.TypeFor[limitsInput](), Out: reflect.TypeFor[limitsView](), Serve: a.putLimits},
		{Method: get, Path: "/v1/admin/tokens", Role: admin, Scope: poolWide, Summary: "the join tokens, without their secrets",
			Out: reflect.TypeFor[[]joinTokenView](), Serve: a.listJoinTokens},
		{Method: post, Path: "/v1/admin/tokens", Role: admin, Scope: poolWide, Summary: "creates a join token",
			In: reflect.TypeFor[joinTokenInput](), Out: reflect.TypeFor[newJoinTokenView](), Serve: a.createJoinToken},
		{Method: post, Path: "/v1/admin/tokens/revoke", Role: admin, Scope: poolWide, Summary: "revokes a join token",
			In: reflect.TypeFor[idInput](), Out: reflect.TypeFor[struct{}](), Serve: a.revokeJoinToken},
		{Method: post, Path: "/v1/admin/hosts/{change}", Role: admin, Scope: poolWide, Summary: "changes a host: remove, promote or demote",
			In: reflect.TypeFor[hostInput](), Out: reflect.TypeFor[struct{}](), OwnHost: true, Serve: a.changeHost},
		{Method: get, Path: "/v1/admin/snapshot", Role: admin, Scope: poolWide, Summary: "a snapshot of the state, a file with a checksum",
			Query: []Parameter{{"history", "1: with the history of tasks that have ended"}}, Serve: a.snapshot},
		{Method: get, Path: "/v1/admin/checksum", Role: admin, Scope: poolWide, Summary: "a checksum of this host's own state, to compare servers by",
			Out: reflect.TypeFor[checksumView](), Mode: leader.LocalOnly, Serve: a.checksum},
		{Method: get, Path: "/v1/admin/digest", Role: admin, Scope: poolWide, Summary: "the former name of /v1/admin/checksum",
			Out: reflect.TypeFor[checksumView](), Mode: leader.LocalOnly, Serve: a.checksum},
	}, callerRoutes(), execSessions{a.Exec, a.Ended}.routes(), gpuQuarantine{a.Store, a.Now}.routes(), gpuCheck{a.Peers, a.Agent.GPUs}.routes(),
		gpuUsage{a.Peers, a.Agent.GPUs, a.Store, a.Now, &httpx.HostAnswerCache[usageAnswer]{}}.routes(), doctor{a.Peers, a.Agent.Doctor}.routes(), taskList{a.Store, a.Now}.routes(), definitionList{}.routes(),
		newLogins(a).adminRoutes(), history{a.Ended, a.Store, a.Now}.routes(), settings{a.Store}.routes(), roles{a.Store, a.CheckTeam}.routes())
}

// logRoute is that of the log of a task.
func logRoute(a *API) Route {
	return Route{Method: http.MethodGet, Path: "/v1/tasks/{id}/logs", Role: accesskey.RoleRead, Scope: perResource, Summary: "the log of a task, one JSON object a line; bare text with Accept: text/plain",
		Query: []Parameter{{"container", "only of this container, by name"}, {"tail", "only the last so many lines, at most 10000"}, {"since", "a time, or an age such as 10m"},
			{"until", "only lines before a time, or an age"}, {"grep", "only lines that match a regular expression of RE2, at most 1024 bytes"}, {"invert", "1: only lines that do not"},
			{"follow", "1: stream new lines"}, {"mark", "1, with follow: an empty line when all is sent that was there"}, staleParameter}, Mode: leader.StaleAllowed, Stream: true, Serve: a.onTaskHost(a.logs), Host: a.logs}
}

// OpenRoutes is the table of the routes that need no access key.
func (a *API) OpenRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/v1/version", Summary: "version and host id, to the socket and to access keys that this host knows; ok to all others", Out: reflect.TypeFor[versionView](), Mode: leader.LocalOnly, Serve: a.version},
		{Method: http.MethodGet, Path: "/healthz", Summary: "200 while this host can answer for its pool, 503 otherwise", Out: reflect.TypeFor[healthView](), Serve: a.health},
	}
}

// EventsRoute is the route of the stream of events, which package events serves.
func EventsRoute(serve Handler) Route {
	return Route{Method: http.MethodGet, Path: "/v1/events", Role: accesskey.RoleRead, Scope: inCluster, Summary: "state-change events as server-sent events in EventBridge's envelopes",
		Query: []Parameter{clusterParameter, {"type", "only of these kinds, with commas between: task, host, cluster, gpu, leader; and refusal, for admin keys: what this host refuses while the stream is open"},
			{"task", "only the changes of this task, by its id, each as soon as it is known; changes of a whole pool are collected for some milliseconds"},
			{"since", "events after this event id, or index; without it from now on. The header Last-Event-ID means the same and takes precedence"},
			{"follow", "false: only the events that the host still has, without since from the oldest"}}, Mode: leader.LocalFirst, Stream: true, Serve: serve}
}
