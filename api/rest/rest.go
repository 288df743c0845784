// Package rest is Pinion's own HTTP API beside the operations of ECS: hosts, GPUs, the queue, teams, logs and pulls of tasks,
// and the administration of keys, tokens, hosts and snapshots. Its JSON has view types of its own, so that the format of the
// replicated log can change without changing the API.
package rest

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"time"

	"pinion/api/auth"
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/login"
	"pinion/api/openid"
	"pinion/api/secrets"
	"pinion/api/upgrade"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

// Store is what the routes need of the replicated state beside a request's view.
type Store interface {
	// View is linearizable: it holds every change acknowledged before the call.
	View(ctx context.Context) (*raftfsm.View, error)
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Connected reports whether the host is known, not given up, and has been heard of lately.
	Connected(hostID string) bool
}

// TaskHost is the agent of this host, for the tasks that run here.
type TaskHost interface {
	// Logs calls emit for each line, oldest first. It returns when the query is answered, or, following, when the
	// task's containers are gone and their logs are drained. An error of emit ends it and is returned.
	Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error
	// Pulls is how far the image pulls of a task have come; empty when none is under way.
	Pulls(taskID string) []spec.Pull
	// Exec runs a command in a container of a task of this host; see exec.Host.
	Exec(ctx context.Context, r execcommand.Request) (code int, err error)
}

// Agent is what the agent of this host has.
type Agent struct {
	Tasks  TaskHost
	GPUs   GPUHost
	Images ImageHost
	Doctor Doctor // nil: this host does not check its machine
	// Upgrades exchanges the program of this host; nil: it stays.
	Upgrades upgrade.Remote
	Volumes  VolumeHost
}

// VolumeHost has the shared volumes of this host.
type VolumeHost interface {
	// RemoveVolume removes one with all that is in it. spec.ErrNotFound; spec.ErrInUse while a task has it.
	RemoveVolume(name string) error
}

// GPUHost has the GPUs of this host.
type GPUHost interface {
	// Check has a GPU of this host checked as soon as no task has it, and reset before. Until it has passed it gets no tasks. spec.ErrNotFound.
	Check(uuid string, reset bool) error
	// CheckOutcome is how far the check is that Check has asked for last. spec.ErrNotFound.
	CheckOutcome(uuid string) (gpu.CheckOutcome, error)
	// Forget makes this host forget a GPU that is missing. gpu.ErrPresent when its driver lists it, spec.ErrNotFound when the host never had it.
	Forget(uuid string) error
	// Usage is how the GPUs of this host are used.
	Usage() gpu.LatestUsage
	// Samples is how a GPU was used after a time, in the last hour at most, the oldest sample first; none when this host does not have it.
	Samples(uuid string, after time.Time) []gpu.UsageSample
}

// ImageHost has the images of this host.
type ImageHost interface {
	// Pull makes an image present and unpacked, as for a task.
	Pull(ctx context.Context, ref string, progress func(spec.Pull)) (blob.Image, error)
	// Import reads an archive of images: all of it or nothing. name, if it is not empty, is for the one image in it.
	Import(ctx context.Context, archive io.Reader, name string) ([]blob.Image, error)
	// Export writes an image as an archive.
	Export(ctx context.Context, name, digest string, to io.Writer) error
	// Push sends an image to a registry. whole is false when that has only the manifest for this host's platform.
	Push(ctx context.Context, name, digest, to string, progress func(spec.Pull)) (whole bool, err error)
	// Remove removes an image by its digest. spec.ErrNotFound, spec.ErrInUse.
	Remove(ctx context.Context, digest string) error
	// Prune removes all images that nothing needs, and returns them; with dryRun it removes none.
	Prune(ctx context.Context, dryRun bool) ([]blob.Image, error)
}

// PoolImages knows the images of the pool. It is asked on the leader only.
type PoolImages interface {
	// Images lists the images that hosts have, as they say.
	Images() ([]blob.HeldImage, error)
}

// Queue explains why tasks wait. It is asked on the leader only, which alone knows their order.
type Queue interface {
	// Queue lists what waits in a cluster, in all when it is empty, in the order of places.
	Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error)
	// Explain tells why a task is where it is. spec.ErrNotFound.
	Explain(ctx context.Context, task string) (spec.Explanation, error)
	// ExplainBriefly is Explain without what each host says: it costs no look at every host. spec.ErrNotFound.
	ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error)
}

// Admin is what the routes under /v1/admin need, and the operations of Parameter Store and Secrets Manager. A part that is nil is answered with an
// error that says so. All of it is called on the leader only.
type Admin struct {
	JoinTokens JoinTokenStore
	Keys       KeyStore // nil: keys have their secrets in clear, and there are no others
	Logins     login.Keys
	Hosts      HostAdmin
	Snapshots  Snapshotter
	Secrets    secrets.Sealer
	Images     PoolImages
}

// JoinTokenStore makes and ends the tokens that let hosts join. Which there are is in the state.
type JoinTokenStore interface {
	// CreateJoinToken makes a token for uses hosts within ttl; 0 of either is the default. role is one of spec's. The hosts serve the
	// cluster, the default one when it is empty.
	CreateJoinToken(ctx context.Context, ttl time.Duration, uses int, role, cluster string) (token string, err error)
	// RevokeJoinToken ends a token. spec.ErrNotFound.
	RevokeJoinToken(ctx context.Context, id string) error
}

// KeyStore makes and ends access keys, and reads their secrets. Which keys there are is in the state, without them.
type KeyStore interface {
	// CreateKey makes a key with the role, the clusters and the grant of this one. Only its answer has the secret in clear.
	CreateKey(ctx context.Context, like accesskey.Key) (accesskey.Key, error)
	// Login makes the key of a person whose ID token is verified: see issuer.Login, which decides on its rights. Only its answer has the
	// secret in clear.
	Login(ctx context.Context, login issuer.Login) (accesskey.Key, error)
	// RemoveKey ends a key at once. spec.ErrNotFound.
	RemoveKey(ctx context.Context, id string) error
	// RotateSealingKey begins to replace the key that secrets are sealed with, or goes on with it.
	RotateSealingKey(ctx context.Context) error
	// RotateCA puts another root of the pool's CA in the place of the one that signs, or goes on with that. force does not wait for
	// hosts that are away, and ends the old root for clients.
	RotateCA(ctx context.Context, force bool) error
	// KeySecret is the secret of a key in the state, also on a host that does not lead. spec.ErrUnavailable while this
	// host cannot read it.
	KeySecret(key *accesskey.Key) (string, error)
}

// HostAdmin changes which hosts belong to the pool, and their roles in it.
type HostAdmin interface {
	// RemoveHost ends a host's membership for ever. spec.ErrInUse while it has tasks, unless force; spec.ErrNotFound.
	RemoveHost(ctx context.Context, id string, force bool) error
	// Promote makes a host a server, Demote an agent. They return when that is recorded.
	Promote(ctx context.Context, id string) error
	Demote(ctx context.Context, id string) error
	// Roles tells for each host id what it is: "leader", "server", "joining" or "agent".
	Roles(ctx context.Context) (map[string]string, error)
	// ClockOffset is how much the clock of a host is ahead of the leader's, negative when it is behind; zero when it is not
	// off.
	ClockOffset(hostID string) time.Duration
}

// Snapshotter writes snapshots of the state.
type Snapshotter interface {
	// SaveSnapshot writes a snapshot that can tell by itself whether it is whole, with the history of ended tasks or without.
	SaveSnapshot(ctx context.Context, w io.Writer, withHistory bool) error
}

// API serves the routes. It is safe for concurrent use.
type API struct {
	Store   Store
	Agent   Agent
	Queue   Queue // nil: this host is alone and nothing waits
	Ended   Ended // nil: this host keeps no history
	Admin   Admin
	Leader  leader.Leadership // nil: this host is alone and leads
	Peers   *httpx.Peers
	HostID  string // of this host
	Version string // of this binary
	Now     func() time.Time

	Exec     *exec.Service
	Searches *httpx.FairSemaphore // of logs; see NewSearches

	CheckTeam func(name string) error // refuses a name that no team can have
	IDTokens  IDTokens
}

// IDTokens verifies what the issuer of the pool says of people.
type IDTokens interface {
	// Verify returns whom an ID token is of.
	Verify(ctx context.Context, from *issuer.Issuer, token string, now time.Time) (openid.Person, error)
}

// Handler answers a request that is authenticated and authorized; the state to answer from is in res. It replies to x, or
// returns the error to reply with.
type Handler func(x *httpx.Exchange, res leader.Resolution) error

// HostHandler answers a request about a task or a GPU of this host.
type HostHandler func(x *httpx.Exchange, id string) error

// Route is one line of the table that the API beside ECS's operations is made from: the mux, the check of roles, the
// description of the API and its page in docs/.
type Route struct {
	Method, Path string
	Role         accesskey.Role // of the access keys that may call it; empty: no key is needed
	Scope        auth.Scope     // the clusters that it is about, of every route that needs a key
	Summary      string
	Query        []Parameter
	In, Out      reflect.Type // of the JSON bodies; nil where there is none, or it is no JSON
	Mode         leader.Mode  // the state it is answered from; when Role is empty: LocalOnly, where a known caller is told more
	List         bool         // its answer has no bound but the state's, so few are put together at once
	Upload       bool         // its body is a file of any size, which Serve reads
	Stream       bool         // may answer for hours, so it ends when its key is removed
	Serve        Handler
	OwnHost      bool        // a host's own key may call it too; Serve checks that it is about that host
	Host         HostHandler // beside Serve, for a route that only the host of the task or GPU {id} can answer
}

// Parameter is one parameter of a route's query.
type Parameter struct{ Name, Summary string }

// NotConfigured refuses a request for which this host was given no means.
func NotConfigured(what string) error {
	return wire.Errorf(wire.Client, "pinion: %s is not supported here: this pinion serves one host that is not part of a pool.", what)
}

// ok replies that a change was made, for changes with nothing to tell.
func ok(x *httpx.Exchange) error { return reply(x, struct{}{}) }

func reply(x *httpx.Exchange, v any) error {
	x.Reply(http.StatusOK, v)
	return nil
}

// decode reads a JSON body; an unknown field is an error.
func decode(x *httpx.Exchange, into any) error { return wire.DecodeJSON(x.Body, into, wire.Strict) }
