package api

import (
	"net/http"
	"strings"

	"pinion/api/ecs"
	"pinion/api/wire"
)

// maxCountAWS is ECS's limit of tasks in one RunTask; the plain door allows more.
const (
	maxCountAWS   = 10
	maxCountPlain = 1000
)

// awsDoor serves AWS's JSON protocol: POST / with the operation in X-Amz-Target. Unknown members are ignored.
func (d *door) awsDoor(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		d.refuse(w, r, typeAWS, err)
		return
	}
	target := r.Header.Get("X-Amz-Target")
	if target == "" {
		d.refuseQuery(w, r, body)
		return
	}
	service, name, _ := strings.Cut(target, ".")
	if service != ecs.Target {
		d.refuse(w, r, typeAWS, wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS, which is all that Pinion answers here", target))
		return
	}
	d.serve(w, r, typeAWS, body, name, func(c *ecs.Call) ecs.Decoder {
		c.Strict, c.MaxCount = wire.Lenient, maxCountAWS
		return wire.DecodeJSON
	})
}

// serve runs an operation for a body whose door has its own way of reading it.
func (d *door) serve(w http.ResponseWriter, r *http.Request, contentType string, body []byte, name string, open func(*ecs.Call) ecs.Decoder) {
	who, ok := d.admit(w, r, contentType, body, d.reach)
	if !ok {
		return
	}
	operation, err := ecs.Find(name)
	if err != nil {
		d.refuse(w, r, contentType, err)
		return
	}
	call := &ecs.Call{Region: who.region, Principal: who.principal, View: who.view, Cluster: d.Cluster, Hosts: d.Admin.Hosts, Now: d.Now}
	answer, err := operation.Invoke(r.Context(), call, body, open(call))
	warn(w, call.Warnings)
	if err != nil {
		d.refuse(w, r, contentType, err)
		return
	}
	d.reply(w, r, contentType, http.StatusOK, answer)
}
