package rest

import (
	"net/http"
	"reflect"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
)

// callerView is who sends a request, and what they may do.
type callerView struct {
	ARN     string         `json:"arn"`
	KeyID   string         `json:"accessKeyId,omitempty"` // left out for root through the socket of a server
	Name    string         `json:"name,omitempty"`        // of the key
	Role    accesskey.Role `json:"role"`
	Cluster string         `json:"cluster,omitempty"` // the only ones that the key is for, with commas between
	HostID  string         `json:"hostId,omitempty"`  // of the host whose own key it is
	keyLimits
	InUse *keyUse `json:"inUse,omitempty"` // nothing when it is left out
}

func callerRoutes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/v1/whoami", Role: accesskey.RoleRead, Scope: unscoped, Summary: "who sends the request, and what they may do",
		Out: reflect.TypeFor[callerView](), Mode: leader.FollowerRead, Serve: showCaller}}
}

// showCaller answers who sends the request.
func showCaller(x *httpx.Exchange, res leader.Resolution) error {
	p := res.Principal
	view := callerView{ARN: p.ARN, KeyID: p.KeyID, Role: p.Role, Cluster: string(p.Clusters), HostID: p.HostID, keyLimits: keyLimits(p.Grant)}
	if key := res.View.AccessKey(p.KeyID); key != nil {
		view.Name, view.InUse = key.Name, useOf(res.View, p.Owner)
	}
	return reply(x, view)
}
