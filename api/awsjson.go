package api

import (
	"net/http"
	"strings"

	"pinion/api/cloudwatch"
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
	target := r.Header.Get("X-Amz-Target")
	service, name, _ := strings.Cut(target, ".")
	body, err := d.receive(w, r)
	switch {
	case err != nil:
	case target == "":
		d.refuseQuery(w, r, body)
		return
	case service == cloudwatch.Target:
		err = d.logsDoor(w, r, body, name)
	case service != ecs.Target:
		err = wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS or CloudWatch Logs, which is all that Pinion answers here", target)
	default:
		err = d.operate(w, r, typeAWS, body, name, func(c *ecs.Request) ecs.Decoder {
			c.Strictness, c.MaxCount = wire.Lenient, maxCountAWS
			return wire.DecodeJSON
		})
	}
	d.conclude(w, r, typeAWS, err)
}

// operate runs an operation for a body whose door has its own way of reading it, and answers when it went well.
func (d *door) operate(w http.ResponseWriter, r *http.Request, contentType string, body []byte, name string, open func(*ecs.Request) ecs.Decoder) error {
	seen := recorderOf(w)
	seen.operation = name
	operation, unknown := ecs.Find(name)
	find := d.confirm
	if unknown != nil || operation.Writes {
		find = d.reach
	}
	who, err := d.admit(w, r, body, find)
	if err != nil {
		return err
	}
	if unknown != nil {
		return unknown
	}
	if err := who.may(operation.Role); err != nil {
		return err
	}
	if body, err = decompress(r, body); err != nil {
		return err
	}
	call := &ecs.Request{
		Region: who.region, Principal: who.principal, Scope: who.bound, View: who.view, Store: d.clusterFor(who), Hosts: d.Admin.Hosts, Now: d.Now, TaskCache: &d.Limits.tasks,
	}
	prepared, err := operation.Prepare(call, body, open(call))
	if err != nil {
		return err
	}
	run := func() error {
		answer, err := prepared.Run(r.Context())
		warn(w, call.Warnings)
		if err != nil {
			return err
		}
		d.reply(w, r, contentType, http.StatusOK, answer)
		return nil
	}
	if !operation.Writes {
		return run()
	}
	seen.changes = true
	return d.once(who, prepared.ClientToken, run)
}

// admit finds out who asks. errAnswered when the leader has answered them.
func (d *door) admit(w http.ResponseWriter, r *http.Request, body []byte, find finder) (caller, error) {
	who, err := find(w, r, body)
	recorderOf(w).principal = who.principal
	return who, err
}

// conclude answers with an error when there is one that nobody has answered with yet.
func (d *door) conclude(w http.ResponseWriter, r *http.Request, contentType string, err error) {
	if err != nil && err != errAnswered {
		d.refuse(w, r, contentType, err)
	}
}
