package api

import (
	"net/http"
	"reflect"

	"pinion/raftfsm/spec"
)

// route is one line of the table that everything beside ECS's operations is made from: the mux, the check of roles and the
// description of the API. Exactly one of serve and task is set.
type route struct {
	method, path string
	role         spec.Role // of the access keys that may call it; empty: everyone may, without a key
	about        string    // what it is for, in a few words
	query        []parameter
	in, out      reflect.Type // of the JSON bodies; nil where there is none, or it is no JSON

	find  finder // which state it is answered from: reach, look or own
	serve handler
	task  taskHandler // for what only the host of a task can tell
}

// parameter is what a route takes in its query.
type parameter struct{ name, about string }

// handler answers a request of a caller who may ask it. body is as it was before it was compressed.
type handler func(w http.ResponseWriter, r *http.Request, who caller, body []byte) error

// taskHandler answers for a task of this host.
type taskHandler func(w http.ResponseWriter, r *http.Request, task string) error

var (
	ofCluster = parameter{"cluster", "only of this cluster, by name"}
	maybeOld  = parameter{"stale", "true: from this host's own copy, which may lag behind but needs no leader"}
)

// routes is the table. What everyone may call comes last.
func (d *door) routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	const read, admin = spec.RoleRead, spec.RoleAdmin
	return []route{
		{method: get, path: "/v1/hosts", role: read, about: "the hosts with what they have and what is free", query: []parameter{ofCluster, maybeOld},
			out: reflect.TypeFor[[]hostView](), find: d.look, serve: d.hosts},
		{method: get, path: "/v1/gpus", role: read, about: "every GPU with its health and the task that has it", query: []parameter{ofCluster, maybeOld},
			out: reflect.TypeFor[[]map[string]any](), find: d.look, serve: d.gpus},
		{method: get, path: "/v1/events", role: read, about: "what changes, as it changes: server-sent events in EventBridge's envelopes",
			query: []parameter{ofCluster, {"type", "only of these kinds, with commas between: task, host, cluster, gpu"},
				{"since", "go on after this id of an event, or this index; from now on without it. The header Last-Event-ID means the same and counts first"},
				{"follow", "false: only what is remembered, from the oldest on without since"}}, find: d.near, serve: d.events},
		{method: get, path: "/v1/tasks/{id}/logs", role: read, about: "a task's log, one JSON object on each line; bare text with Accept: text/plain",
			query: []parameter{{"container", "only of this one"}, {"tail", "only the last so many lines"}, {"since", "a time, or an age such as 10m"},
				{"follow", "1: go on as lines come"}, maybeOld}, find: d.look, task: d.logs},
		{method: get, path: "/v1/tasks/{id}/pulls", role: read, about: "how far the image pulls of a task have come", query: []parameter{maybeOld},
			out: reflect.TypeFor[[]spec.Pull](), find: d.look, task: d.pulls},
		{method: get, path: "/v1/tasks/{id}/explain", role: read, about: "why a task is where it is: what each host says, who has what it waits for, when it can start",
			query: []parameter{{"brief", "true: without what each host says; of a task that waits only its place in the queue, and what makes it impossible"}},
			out:   reflect.TypeFor[spec.Explanation](), find: d.reach, serve: d.explainTask},
		{method: get, path: "/v1/queue", role: read, about: "the tasks that wait for a place, in their order", query: []parameter{ofCluster},
			out: reflect.TypeFor[[]spec.QueueItem](), find: d.reach, serve: d.queue},

		{method: get, path: "/v1/teams", role: read, about: "the teams with their quotas, their weights and the GPUs that they use", query: []parameter{maybeOld},
			out: reflect.TypeFor[[]teamView](), find: d.look, serve: d.listTeams},
		{method: post, path: "/v1/admin/teams", role: admin, about: "sets the quota or the weight of a team",
			in: reflect.TypeFor[teamInput](), out: reflect.TypeFor[teamView](), find: d.reach, serve: d.putTeam},
		{method: post, path: "/v1/admin/teams/remove", role: admin, about: "forgets the quota and the weight of a team",
			in: reflect.TypeFor[teamInput](), out: reflect.TypeFor[struct{}](), find: d.reach, serve: d.removeTeam},

		{method: get, path: "/v1/admin/keys", role: admin, about: "the access keys, without their secrets",
			out: reflect.TypeFor[[]keyView](), find: d.reach, serve: d.listKeys},
		{method: post, path: "/v1/admin/keys", role: admin, about: "makes an access key; the only answer with its secret",
			in: reflect.TypeFor[keyInput](), out: reflect.TypeFor[newKeyView](), find: d.reach, serve: d.createKey},
		{method: post, path: "/v1/admin/keys/remove", role: admin, about: "ends an access key at once",
			in: reflect.TypeFor[idInput](), out: reflect.TypeFor[struct{}](), find: d.reach, serve: d.removeKey},
		{method: get, path: "/v1/admin/tokens", role: admin, about: "the join tokens, without their secrets",
			out: reflect.TypeFor[[]tokenView](), find: d.reach, serve: d.listTokens},
		{method: post, path: "/v1/admin/tokens", role: admin, about: "makes a join token",
			in: reflect.TypeFor[tokenInput](), out: reflect.TypeFor[newTokenView](), find: d.reach, serve: d.createToken},
		{method: post, path: "/v1/admin/tokens/revoke", role: admin, about: "ends a join token",
			in: reflect.TypeFor[idInput](), out: reflect.TypeFor[struct{}](), find: d.reach, serve: d.revokeToken},
		{method: post, path: "/v1/admin/hosts/{change}", role: admin, about: "changes a host: remove, promote or demote",
			in: reflect.TypeFor[hostInput](), out: reflect.TypeFor[struct{}](), find: d.reach, serve: d.changeHost},
		{method: get, path: "/v1/admin/snapshot", role: admin, about: "the whole state as a file that tells by itself whether it is whole",
			find: d.reach, serve: d.snapshot},
		{method: get, path: "/v1/admin/digest", role: admin, about: "a sum of this host's own state, to compare servers by",
			out: reflect.TypeFor[digestView](), find: d.own, serve: d.digest},

		{method: get, path: "/v1/version", about: "which pinion this is", out: reflect.TypeFor[versionView](), serve: d.version},
		{method: get, path: "/v1/openapi.json", about: "this description", out: reflect.TypeFor[map[string]any](), serve: d.openapi},
		{method: get, path: "/healthz", about: "200 while this host can answer for its pool, 503 otherwise", out: reflect.TypeFor[healthView](), serve: d.health},
	}
}

// open makes the HTTP handler of a route.
func (d *door) open(line route) http.HandlerFunc {
	serve := line.serve
	if line.task != nil {
		serve = d.ofTask(line.task)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		seen := recorderOf(w)
		seen.operation = line.method + " " + line.path
		var err error
		switch {
		case line.role == "":
			err = serve(w, r, caller{}, nil)
		case line.task != nil && r.Header.Get(authorizedByHeader) != "": // checked where the state is
			err = line.task(w, r, r.PathValue("id"))
		default:
			err = d.checked(w, r, line, serve)
		}
		d.conclude(w, r, typeJSON, err)
	}
}

// checked serves a route to those who may call it.
func (d *door) checked(w http.ResponseWriter, r *http.Request, line route, serve handler) error {
	body, err := d.receive(w, r)
	if err != nil {
		return err
	}
	who, err := d.admit(w, r, body, line.find)
	if err != nil {
		return err
	}
	if err := line.permit(who); err != nil {
		return err
	}
	if body, err = decompress(r, body); err != nil {
		return err
	}
	if line.method == http.MethodGet {
		return serve(w, r, who, body)
	}
	recorderOf(w).changes = true
	return d.once(who, "", func() error { return serve(w, r, who, body) })
}

// permit refuses those who may not call a route. What is for admins is about the whole pool.
func (line route) permit(who caller) error {
	if err := who.may(line.role); err != nil || line.role != spec.RoleAdmin {
		return err
	}
	return who.mayAll()
}
