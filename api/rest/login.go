package rest

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/login"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// logins are the routes of the pool's issuer.
type logins struct {
	store     Store
	keys      KeyStore
	idTokens  IDTokens
	now       func() time.Time
	checkTeam func(name string) error
}

func newLogins(a *API) logins { return logins{a.Store, a.Admin.Keys, a.IDTokens, a.Now, a.CheckTeam} }

// LoginRoutes is the table of the routes that the leader answers to those who have no access key yet.
func LoginRoutes(api *API) []Route {
	l := newLogins(api)
	return []Route{
		{Method: http.MethodGet, Path: "/v1/login", Summary: "the OpenID Connect issuer at which people of this pool log in", Out: reflect.TypeFor[loginIssuerView](), Serve: l.loginIssuer},
		{Method: http.MethodPost, Path: "/v1/login", Summary: "gives an access key for an ID token of the issuer; the only answer with its secret",
			In: reflect.TypeFor[loginInput](), Out: reflect.TypeFor[loginView](), Serve: l.login},
	}
}

// adminRoutes is the table of the routes that administer the issuer.
func (l logins) adminRoutes() []Route {
	const get, post, admin = http.MethodGet, http.MethodPost, accesskey.RoleAdmin
	return []Route{
		{Method: get, Path: "/v1/admin/oidc", Role: admin, Scope: poolWide, Summary: "the OpenID Connect issuer whose people may log in, and what their groups give them",
			Out: reflect.TypeFor[issuerView](), Serve: l.showIssuer},
		{Method: post, Path: "/v1/admin/oidc", Role: admin, Scope: poolWide, Summary: "names the issuer whose people may log in; another one begins without groups",
			In: reflect.TypeFor[issuerInput](), Out: reflect.TypeFor[issuerView](), Serve: l.putIssuer},
		{Method: post, Path: "/v1/admin/oidc/remove", Role: admin, Scope: poolWide, Summary: "ends logins; the keys of earlier ones live until they expire",
			In: reflect.TypeFor[struct{}](), Out: reflect.TypeFor[struct{}](), Serve: l.removeIssuer},
		{Method: post, Path: "/v1/admin/oidc/groups", Role: admin, Scope: poolWide, Summary: "sets what a group of the issuer's people may do",
			In: reflect.TypeFor[groupInput](), Out: reflect.TypeFor[issuerView](), Serve: l.mapGroup},
		{Method: post, Path: "/v1/admin/oidc/groups/remove", Role: admin, Scope: poolWide, Summary: "takes from a group what it may do, for further logins",
			In: reflect.TypeFor[nameInput](), Out: reflect.TypeFor[issuerView](), Serve: l.unmapGroup},
	}
}

// loginIssuerView is what a person's machine needs to know of the issuer. Everybody may know it; what groups give is not in it.
type loginIssuerView struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes,omitempty"`
	CA       string   `json:"ca,omitempty"` // of the issuer's certificate, in PEM form; left out: the CAs of the operating system
}

type loginInput struct {
	IDToken string   `json:"idToken"`
	Groups  []string `json:"groups"` // only the rights of these; of all the person's groups when it is left out
}

// loginView is the only response with the secret of the key of a login.
type loginView struct {
	newKeyView
	Login keyLogin `json:"login"`
}

func (l logins) loginIssuer(x *httpx.Exchange, res leader.Resolution) error {
	from, err := login.IssuerOf(res)
	if err != nil {
		return err
	}
	return reply(x, loginIssuerView{Issuer: from.URL, ClientID: from.ClientID, Scopes: from.Scopes, CA: string(from.CA)})
}

// login gives a person an access key. The token is verified before anything is recorded, and the rights are decided when it is.
func (l logins) login(x *httpx.Exchange, res leader.Resolution) error {
	from, err := login.IssuerOf(res) // first: a pool without one reads nothing of what anybody sends
	if err != nil {
		return err
	}
	var in loginInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if l.keys == nil {
		return NotConfigured("logging in")
	}
	person, err := l.idTokens.Verify(x.Context(), from, in.IDToken, l.now())
	if err != nil {
		return err
	}
	like := accesskey.Key{Login: &accesskey.Login{Person: person.Name, Subject: person.Subject, Issuer: from.URL, Groups: chosen(person.Groups, in.Groups)}}
	x.Principal = iam.OwnerARN(like.Owner())
	key, err := l.keys.Login(x.Context(), issuer.Login{Key: like, ClientID: from.ClientID, TokenHash: person.Hash, TokenUntil: person.Until})
	switch {
	case errors.Is(err, issuer.ErrNoRights), errors.Is(err, spec.ErrInUse):
		refusal := wire.Errorf(wire.AccessDenied, "%s cannot log in: %v.", x.Principal, err)
		if conflict, is := errors.AsType[*issuer.Conflict](err); is {
			refusal.Groups = conflict.Groups
		}
		return refusal
	case err != nil:
		return err
	}
	return reply(x, loginView{newKeyView: newKeyView{KeyID: key.ID, Secret: key.Secret, Role: key.Role, Cluster: key.Cluster, keyLimits: keyLimits(key.Grant)}, Login: keyLogin(*key.Login)})
}

// chosen are the groups of a person that are asked for: none is added.
func chosen(groups, asked []string) []string {
	if len(asked) == 0 {
		return groups
	}
	return slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return !slices.Contains(asked, group) })
}

// issuerView is the issuer as administrators see it.
type issuerView struct {
	loginIssuerView
	UserClaim   string      `json:"userClaim"`
	GroupsClaim string      `json:"groupsClaim"`
	Lifetime    string      `json:"lifetime"`
	Groups      []groupView `json:"groups"`
}

// groupView is what a group gives.
type groupView struct {
	Group   string         `json:"group"`
	Role    accesskey.Role `json:"role"`
	Cluster string         `json:"cluster,omitempty"`
	keyLimits
}

// issuerInput names an issuer. What is left out has its default.
type issuerInput struct {
	Issuer      string   `json:"issuer"`
	ClientID    string   `json:"clientId"`
	Scopes      []string `json:"scopes"`
	CA          string   `json:"ca"`
	UserClaim   string   `json:"userClaim"`   // email
	GroupsClaim string   `json:"groupsClaim"` // groups
	Lifetime    string   `json:"lifetime"`    // of the keys of logins, such as "8h", which is the default; 24h at most
}

// groupInput is what a group is to give.
type groupInput struct {
	Group string `json:"group"`
	keyInput
}

// nameInput names a group.
type nameInput struct {
	Group string `json:"group"`
}

func newIssuerView(i *issuer.Issuer) issuerView {
	view := issuerView{
		loginIssuerView: loginIssuerView{Issuer: i.URL, ClientID: i.ClientID, Scopes: i.Scopes, CA: string(i.CA)},
		UserClaim:       i.UserClaim, GroupsClaim: i.GroupsClaim, Lifetime: i.Lifetime.String(), Groups: []groupView{},
	}
	for _, g := range i.Groups {
		view.Groups = append(view.Groups, groupView{Group: g.Name, Role: g.Rights.Role, Cluster: g.Rights.Cluster, keyLimits: keyLimits(g.Rights.Grant)})
	}
	return view
}

func (l logins) showIssuer(x *httpx.Exchange, res leader.Resolution) error {
	from, err := login.IssuerOf(res)
	if err != nil {
		return err
	}
	return reply(x, newIssuerView(from))
}

func (l logins) putIssuer(x *httpx.Exchange, res leader.Resolution) error {
	var in issuerInput
	if err := decode(x, &in); err != nil {
		return err
	}
	wanted := issuer.Issuer{URL: in.Issuer, ClientID: in.ClientID, Scopes: in.Scopes, CA: []byte(in.CA), UserClaim: in.UserClaim, GroupsClaim: in.GroupsClaim}
	if in.Lifetime != "" {
		var err error
		if wanted.Lifetime, err = time.ParseDuration(in.Lifetime); err != nil {
			return wire.Errorf(wire.InvalidParameter, "lifetime must be a duration such as 8h, not %q.", in.Lifetime)
		}
	}
	if known := issuer.Find(res.View); known != nil {
		wanted.Version, wanted.Groups = known.Version, known.Groups
	}
	return l.recordIssuer(x, wanted.Or())
}

func (l logins) mapGroup(x *httpx.Exchange, res leader.Resolution) error {
	var in groupInput
	if err := decode(x, &in); err != nil {
		return err
	}
	from, err := login.IssuerOf(res)
	if err != nil {
		return err
	}
	rights, err := rightsOf(l.checkTeam, in.keyInput, res)
	if err != nil {
		return err
	}
	changed, err := from.WithGroup(issuer.Group{Name: in.Group, Rights: rights})
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	return l.recordIssuer(x, changed)
}

func (l logins) unmapGroup(x *httpx.Exchange, res leader.Resolution) error {
	var in nameInput
	if err := decode(x, &in); err != nil {
		return err
	}
	from, err := login.IssuerOf(res)
	if err != nil {
		return err
	}
	changed := from.WithoutGroup(in.Group)
	if len(changed.Groups) == len(from.Groups) {
		return wire.Errorf(httpx.NotFound, "The group %q is not mapped.", in.Group)
	}
	return l.recordIssuer(x, changed)
}

// recordIssuer records a change of the issuer as the request has seen it.
func (l logins) recordIssuer(x *httpx.Exchange, changed issuer.Issuer) error {
	changed.Version++
	if err := changed.Check(); err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	recorded, err := l.store.Propose(x.Context(), raftfsm.Wrap(issuer.Put{Issuer: changed}))
	if err != nil {
		return err
	}
	return reply(x, newIssuerView(recorded.(*issuer.Issuer)))
}

func (l logins) removeIssuer(x *httpx.Exchange, res leader.Resolution) error {
	if _, err := login.IssuerOf(res); err != nil {
		return err
	}
	if _, err := l.store.Propose(x.Context(), raftfsm.Wrap(issuer.Delete{})); err != nil {
		return err
	}
	return ok(x)
}
