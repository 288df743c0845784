package api

import (
	"net/http"
	"reflect"

	"pinion/api/auth"
	"pinion/api/login"
	"pinion/api/rest"
	"pinion/raftfsm/accesskey"
)

// loginRoutes are those of people who log in: without a key, and with the key of a login.
func loginRoutes(a *rest.API, config Config) (open, keyed []rest.Route) {
	h := &login.Handler{Devices: &config.Shared.devices, Keys: config.Admin.Logins, Now: config.Now}
	const path = "/v1/login/device"
	open = append(rest.LoginRoutes(a), []rest.Route{
		{Method: http.MethodGet, Path: path, Summary: "whether people log in with a browser, and at which issuer", Out: reflect.TypeFor[login.Offer](), Serve: h.Offer},
		{Method: http.MethodPost, Path: path, Summary: "has the issuer begin a login by the device flow, for a browser; see docs/clients.md",
			In: reflect.TypeFor[struct{}](), Out: reflect.TypeFor[login.Begun](), Serve: h.Begin},
		{Method: http.MethodPost, Path: path + "/token", Summary: "the ID token of a login that was begun, once the person has logged in at the issuer",
			In: reflect.TypeFor[login.IDTokenRequest](), Out: reflect.TypeFor[login.IDToken](), Serve: h.IDToken},
	}...)
	keyed = []rest.Route{{Method: http.MethodPost, Path: "/v1/logout", Role: accesskey.RoleRead, Scope: auth.Unscoped, Summary: "ends the access key of the request, if a login has made it",
		In: reflect.TypeFor[struct{}](), Out: reflect.TypeFor[struct{}](), Serve: h.LogOut}}
	return open, keyed
}
