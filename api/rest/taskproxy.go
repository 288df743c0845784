package rest

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// onTaskHost makes a handler of what only the host of a task can answer. The request is authorized where the state is; then
// it goes to the task's host as authorized by this one, because a host that is no server has no keys to check it with.
func (a *API) onTaskHost(answer HostHandler) Handler {
	return func(x *httpx.Exchange, res leader.Resolution) error {
		task, err := findTask(x, res, a.Ended)
		if err != nil {
			return err
		}
		if err := checkContainer(task, x.Request.URL.Query().Get("container")); err != nil {
			return err
		}
		if a.Peers.Transport == nil || task.HostID == "" || task.HostID == a.HostID {
			return answer(x, task.ID)
		}
		host := res.View.Host(task.HostID)
		if host == nil {
			return wire.Errorf(httpx.NotFound, "The host that ran task %s was removed from the pool, and the task's logs with it.", task.ID)
		}
		unreachable := func(err error) error {
			return wire.Errorf(wire.Server, "Task %s is on host %s, which cannot be reached at %s: %v. Its logs are there; try again when it is back.", task.ID, host.Name, host.Address, err)
		}
		if !leader.StaleRequested(x.Request) && !a.Peers.Connected(host.ID) { // or this host may not lead, and the leader alone knows
			return unreachable(errSilent)
		}
		return proxyToHost(a.Peers, x, res, host, unreachable)
	}
}

// OnHost makes a handler of what the host {id} itself answers to the same body, with what to do where it cannot be reached. The request is authorized where
// the state is, as with onTaskHost. A host that the pool has not heard of lately is asked too: it is the one to be examined, and its Peer port may work.
func OnHost(peers *httpx.Peers, advice string, answer HostHandler) Handler {
	return func(x *httpx.Exchange, res leader.Resolution) error {
		id := x.Request.PathValue("id")
		host := res.View.Host(id)
		if host == nil || !res.Principal.Clusters.Covers(host.Cluster) {
			return wire.Errorf(httpx.NotFound, "There is no host %q: GET /v1/hosts lists them.", id)
		}
		if peers.Transport == nil || id == peers.HostID {
			return answer(x, id)
		}
		return proxyToHost(peers, x, res, host, func(err error) error {
			return wire.Errorf(wire.Server, "Host %s cannot be reached at %s: %v. %s", host.Name, host.Address, err, advice)
		})
	}
}

// errSilent is why a host is not asked for what its tasks write that the leader has not heard of lately.
var errSilent = errors.New("the pool has not heard of it lately")

// proxyToHost has another host answer a request that was authorized here. unreachable is the error when that one does not begin to.
func proxyToHost(peers *httpx.Peers, x *httpx.Exchange, res leader.Resolution, host *spec.Host, unreachable func(error) error) error {
	if err := peers.Await(x, res.Principal.SlotOwner(), host.ID); err != nil {
		return err
	}
	header := httpx.ForwardHeader(x.Request)
	header.Del("Authorization") // a bearer key is no business of that host
	header.Set(httpx.HeaderAuthorizedBy, peers.HostID)
	header.Set(httpx.HeaderOwner, url.QueryEscape(res.Principal.SlotOwner()))
	header.Set(httpx.HeaderClient, x.LimitAddress())
	header.Del("Content-Encoding") // the body is read
	response, end, err := peers.RoundTrip(x.Request, host.Address, header, x.Body)
	defer end()
	if err != nil {
		return unreachable(err)
	}
	peers.Copy(x, ofTaskHost(response), end)
	return nil
}

// ofTaskHost is the answer of a task's host as clients get it: root there has no say in where they go on, or in what this host tells others of
// the pool with it.
func ofTaskHost(response *http.Response) *http.Response {
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "X-Amzn-Errortype", "X-Amzn-Requestid"} {
		if value := response.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	if status := response.StatusCode; status != http.StatusOK && (status < http.StatusBadRequest || status == http.StatusUnauthorized || status > 599) {
		response.StatusCode = http.StatusBadGateway
	}
	response.Header = header
	return response
}

func checkContainer(task *spec.Task, name string) error {
	var names []string
	for _, container := range task.Containers {
		if name == "" || container.Name == name {
			return nil
		}
		names = append(names, container.Name)
	}
	if name == "" {
		return nil
	}
	return wire.Errorf(wire.InvalidParameter, "Task %s has no container %q; it has %s.", task.ID, name, strings.Join(names, ", "))
}
