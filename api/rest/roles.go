package rest

import (
	"crypto/rand"
	"net/http"
	"reflect"
	"time"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/taskrole"
)

// roles serves the roles of tasks.
type roles struct {
	store     Store
	checkTeam func(name string) error
}

// roleView is a role of tasks.
type roleView struct {
	Name      string         `json:"name"`
	ARN       string         `json:"arn"`
	ID        string         `json:"id"`
	Role      accesskey.Role `json:"role"`              // of its access keys
	Cluster   string         `json:"cluster,omitempty"` // the only ones that it is for, with commas between
	CreatedAt time.Time      `json:"createdAt"`
	keyLimits
	InUse *keyUse `json:"inUse,omitempty"` // nothing when it is left out
}

// roleName names a role.
type roleName struct {
	Name string `json:"name"`
}

func (a roles) routes() []Route {
	const post, admin = http.MethodPost, accesskey.RoleAdmin
	return []Route{
		{Method: http.MethodGet, Path: "/v1/roles", Role: accesskey.RoleRead, Scope: perResource, Summary: "the roles that the caller may give to tasks: those that may do no more than its own key",
			Out: reflect.TypeFor[[]roleView](), List: true, Serve: a.list},
		{Method: post, Path: "/v1/admin/roles", Role: admin, Scope: poolWide, Summary: "makes a role of tasks, or changes what it may do, which its tasks may at once",
			In: reflect.TypeFor[keyInput](), Out: reflect.TypeFor[roleView](), Serve: a.put},
		{Method: post, Path: "/v1/admin/roles/remove", Role: admin, Scope: poolWide, Summary: "removes a role of tasks: its access keys end at once",
			In: reflect.TypeFor[roleName](), Out: reflect.TypeFor[struct{}](), Serve: a.remove},
	}
}

func newRoleView(v *raftfsm.View, r *taskrole.Role) roleView {
	return roleView{
		Name: r.Name, ARN: taskrole.ARN(r.Name), ID: r.ID, Role: r.Rights.Role, Cluster: r.Rights.Cluster, CreatedAt: r.CreatedAt,
		keyLimits: keyLimits(r.Rights.Grant), InUse: useOf(v, iam.RoleOwner+r.Name),
	}
}

func (a roles) list(x *httpx.Exchange, res leader.Resolution) error {
	views := []roleView{}
	for _, r := range taskrole.All(res.View) {
		if auth.CheckPass("", res.Principal.Rights(), r) == nil {
			views = append(views, newRoleView(res.View, r))
		}
	}
	return reply(x, views)
}

func (a roles) put(x *httpx.Exchange, res leader.Resolution) error {
	var in keyInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if err := taskrole.CheckName(in.Name); err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	rights, err := rightsOf(a.checkTeam, in, res)
	if err != nil {
		return err
	}
	put, err := a.store.Propose(x.Context(), raftfsm.Wrap(taskrole.Put{Role: taskrole.Role{Name: in.Name, ID: newRoleID(), Rights: rights, CreatedAt: time.Now().UTC()}}))
	if err != nil {
		return err
	}
	return reply(x, newRoleView(res.View, put.(*taskrole.Role)))
}

// newRoleID is "AROA" and 17 letters and digits, as on AWS.
func newRoleID() string { return "AROA" + rand.Text()[:17] }

func (a roles) remove(x *httpx.Exchange, _ leader.Resolution) error {
	var in roleName
	if err := decode(x, &in); err != nil {
		return err
	}
	if _, err := a.store.Propose(x.Context(), raftfsm.Wrap(taskrole.Delete{Name: in.Name})); err != nil {
		return err
	}
	return ok(x)
}
