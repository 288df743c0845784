package api

import (
	"context"
	"net/http"

	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/raftfsm/spec"
)

// newExec is the service of exec sessions. Those whose commands run on this host are shared by all its handlers.
func newExec(config Config, peers *httpx.Peers, c *chain) *exec.Service {
	config.Shared.sessions.Setup(config.Agent.Tasks, config.HostID, config.Audit, peers.Stop)
	return &exec.Service{
		Sessions: &config.Shared.sessions, Peers: peers, Leader: config.Leader, Local: config.Local, Limits: config.Shared.limits, WhileKeyLives: c.contextOfKey,
	}
}

// mountExec mounts what needs no access key: clients prove with a token whose session it is, and hosts with their certificates.
func (c *chain) mountExec(mux *http.ServeMux, s *exec.Service) {
	const connects, carries = "exec session of a client", "exec session of a host"
	mux.Handle(exec.ClientPattern, serve(httpx.JSON, connects, func(r *request) error { return s.ServeClient(r.Exchange) }))
	mux.Handle(exec.AttachPattern, serve(httpx.JSON, carries, func(r *request) error { return s.ServeAttach(r.Exchange) }))
	mux.Handle(exec.PeerPattern, c.limited(carries, func(r *request) error { return s.ServePeer(r.Exchange) }))
}

// execOpener opens exec sessions for the caller of a request.
type execOpener struct {
	service *exec.Service
	caller  *request
}

// Open opens a session on the host of the task, and returns where a client of a data channel connects.
func (o execOpener) Open(ctx context.Context, host *spec.Host, r exec.Request) (session exec.Session, streamURL string, err error) {
	r.By(o.caller.Resolution.Principal, o.caller.ClientAddress())
	session, err = o.service.Open(ctx, host, r, exec.TargetNotConnected)
	return session, exec.StreamURL(o.caller.Request.Host, session.ID), err
}
