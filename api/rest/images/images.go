// Package images has the routes of the images of the pool and of its hosts.
package images

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
)

// Handler serves the images of the pool and of its hosts.
type Handler struct {
	Peers     *httpx.Peers
	Store     rest.Store
	Pool      rest.PoolImages // nil: this host does not list them
	Host      rest.ImageHost  // of this host; nil: it has none
	Transfers *Transfers
	Now       func() time.Time
}

// imageView is an image of the pool.
type imageView struct {
	Name   string     `json:"name"` // registry/repository:tag; with @digest where no host has a tag for it
	Digest string     `json:"digest"`
	Size   int64      `json:"size"`  // of its blobs in bytes, for one platform
	Hosts  []string   `json:"hosts"` // ids of the hosts that have it
	Kept   *keptImage `json:"kept,omitempty"`
}

// keptImage says that the pool keeps an image, and where.
type keptImage struct {
	Imported bool      `json:"imported"`         // from an archive: in this pool its name means this digest
	On       string    `json:"on,omitempty"`     // expression of the cluster query language that selects the hosts
	Copies   int       `json:"copies,omitempty"` // on how many hosts, where no expression selects them
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"`
}

// pinInput is an image that the pool is to keep.
type pinInput struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	On     string `json:"on"`     // expression of the cluster query language; empty: any hosts
	Copies int    `json:"copies"` // how many, without On; 0: 3
}

// keptView is an image that was recorded, and the hosts that are to have it now.
type keptView struct {
	imageView
	Keepers []string `json:"keepers"` // ids
}

// Routes is the table of the routes about images.
func (h *Handler) Routes() []rest.Route {
	const onHost = "/v1/admin/hosts/{id}/images/"
	const get, post = http.MethodGet, http.MethodPost
	const admin = accesskey.RoleAdmin
	name, byDigest, to := rest.Parameter{Name: "name", Summary: "of the image"}, rest.Parameter{Name: "digest", Summary: "of the image"}, rest.Parameter{Name: "to", Summary: "name in the registry"}
	pulled := reflect.TypeFor[transferView]()
	return []rest.Route{
		{Method: get, Path: "/v1/images", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "the images that hosts have, and those that the pool keeps",
			Out: reflect.TypeFor[[]imageView](), List: true, Serve: h.list},
		{Method: post, Path: "/v1/admin/images/import", Role: admin, Scope: auth.PoolWide, Summary: "takes an archive of `docker save`, or of an OCI image layout, as its body: the pool keeps its images",
			Query: []rest.Parameter{{Name: "name", Summary: "for the one image of the archive"}, {Name: "on", Summary: "expression of the cluster query language: hosts that keep it"}}, Out: reflect.TypeFor[[]keptView](), Upload: true, Serve: h.importArchive},
		{Method: post, Path: "/v1/admin/images/pin", Role: admin, Scope: auth.PoolWide, Summary: "has hosts keep an image",
			In: reflect.TypeFor[pinInput](), Out: reflect.TypeFor[keptView](), Serve: h.pin},
		{Method: post, Path: "/v1/admin/images/unpin", Role: admin, Scope: auth.PoolWide, Summary: "ends that hosts keep an image",
			In: reflect.TypeFor[pinInput](), Out: reflect.TypeFor[struct{}](), Serve: h.unpin},
		{Method: post, Path: onHost + "pull", Role: admin, Scope: auth.PoolWide, Summary: "has a host pull an image", Query: []rest.Parameter{name}, Out: pulled, Serve: h.onHost(h.pull), Host: h.serveLocal(h.pull)},
		{Method: post, Path: onHost + "push", Role: admin, Scope: auth.PoolWide, Summary: "has a host push an image to a registry", Query: []rest.Parameter{name, byDigest, to}, Out: pulled, Serve: h.onHost(h.push), Host: h.serveLocal(h.push)},
		{Method: get, Path: onHost + "transfer", Role: admin, Scope: auth.PoolWide, Summary: "how far a pull or, with to, a push is that a host was asked for", Query: []rest.Parameter{name, to}, Out: pulled, Serve: h.onHost(h.transfer), Host: h.serveLocal(h.transfer)},
		{Method: post, Path: onHost + "remove", Role: admin, Scope: auth.PoolWide, Summary: "removes an image from a host", Query: []rest.Parameter{byDigest}, Out: reflect.TypeFor[struct{}](), Serve: h.unlessKept(h.onHost(h.remove)), Host: h.serveLocal(h.remove)},
		{Method: post, Path: onHost + "prune", Role: admin, Scope: auth.PoolWide, Summary: "removes all images from a host that nothing needs there", Query: []rest.Parameter{{Name: "dry-run", Summary: "true: says which these are, and removes none"}}, Out: reflect.TypeFor[[]imageView](), Serve: h.onHost(h.prune), Host: h.serveLocal(h.prune)},
		{Method: get, Path: onHost + "export", Role: admin, Scope: auth.PoolWide, Summary: "an image as an archive, which `docker load` reads", Query: []rest.Parameter{name, byDigest}, Stream: true, Serve: h.onHost(h.export), Host: h.serveLocal(h.export)},
	}
}

// onHost makes a handler of what the host {id} itself answers about its images.
func (h *Handler) onHost(answer rest.HostHandler) rest.Handler {
	return rest.OnHost(h.Peers, "Try again when it is back.", h.serveLocal(answer))
}

// unlessKept refuses what would remove an image that the pool keeps, under whatever name.
func (h *Handler) unlessKept(next rest.Handler) rest.Handler {
	return func(x *httpx.Exchange, res leader.Resolution) error {
		for _, kept := range image.All(res.View) {
			if kept.Digest == x.Request.URL.Query().Get("digest") {
				return wire.Errorf(wire.InvalidParameter, "The pool keeps this image as %s: end that first, with `pinion image rm` or `pinion image unpin`.", kept.Name)
			}
		}
		return next(x, res)
	}
}

// list serves GET /v1/images.
func (h *Handler) list(x *httpx.Exchange, res leader.Resolution) error {
	held, err := h.held()
	if err != nil {
		return err
	}
	scoped := res.Principal.RequireUnscoped("") != nil
	views := []imageView{}
	for _, v := range merge(onHostsOf(res, held), image.All(res.View)) {
		if len(v.Hosts) == 0 && (scoped || v.Kept == nil) {
			continue
		}
		if scoped && v.Kept != nil { // who keeps it, and where, is of the whole pool
			v.Kept.By, v.Kept.On = "", ""
		}
		views = append(views, v)
	}
	return reply(x, views)
}

// onHostsOf are the images that hosts of the caller's clusters have, under the names that these have them by.
func onHostsOf(res leader.Resolution, held []blob.HeldImage) (all []blob.HeldImage) {
	for _, h := range held {
		h.Hosts = slices.DeleteFunc(slices.Clone(h.Hosts), func(id string) bool {
			host := res.View.Host(id)
			return host == nil || !res.Principal.Clusters.Covers(host.Cluster)
		})
		if len(h.Hosts) > 0 {
			all = append(all, h)
		}
	}
	return all
}

func (h *Handler) held() ([]blob.HeldImage, error) {
	if h.Pool == nil {
		return nil, rest.NotConfigured("listing the images of a pool")
	}
	return h.Pool.Images()
}

// merge puts together what hosts have with what the pool keeps. What the pool keeps is on every host that has its digest. By which name a host has an
// image is its word: it counts for that name, and by a digest for every tag of that repository, but another host does not count for it.
func merge(held []blob.HeldImage, kept []*image.Image) (views []imageView) {
	byDigest, byName := map[string][]string{}, map[[2]string][]string{}
	for _, h := range held {
		byDigest[h.Digest] = append(byDigest[h.Digest], h.Hosts...)
		name, _, _ := strings.Cut(h.Name, "@")
		byName[[2]string{name, h.Digest}] = append(byName[[2]string{name, h.Digest}], h.Hosts...)
	}
	hostsOf := func(name, digest string) []string {
		name, _, _ = strings.Cut(name, "@")
		return slices.Concat(byName[[2]string{name, digest}], byName[[2]string{repositoryOf(name), digest}])
	}
	named := map[string]bool{} // digests with a tag
	indexes := map[[2]string]int{}
	add := func(name, digest string, size int64, hosts []string) *imageView {
		at, known := indexes[[2]string{name, digest}]
		if !known {
			at = len(views)
			indexes[[2]string{name, digest}] = at
			views = append(views, imageView{Name: name, Digest: digest, Size: size, Hosts: slices.Compact(slices.Sorted(slices.Values(hosts)))})
		}
		return &views[at]
	}
	for _, k := range kept {
		named[k.Digest] = true
		add(k.Name, k.Digest, k.Size, byDigest[k.Digest]).Kept = &keptImage{Imported: k.Imported, On: k.Hosts, Copies: k.Copies, At: k.At, By: k.By}
	}
	for _, h := range held {
		if !strings.Contains(h.Name, "@") {
			named[h.Digest] = true
			add(h.Name, h.Digest, h.Size, hostsOf(h.Name, h.Digest))
		}
	}
	for _, h := range held {
		if !named[h.Digest] {
			add(h.Name, h.Digest, h.Size, hostsOf(h.Name, h.Digest))
		}
	}
	slices.SortFunc(views, func(a, b imageView) int { return strings.Compare(a.Name+" "+a.Digest, b.Name+" "+b.Digest) })
	return views
}

// repositoryOf is a name without its tag.
func repositoryOf(name string) string {
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		return name[:at]
	}
	return name
}

// importArchive takes an archive as the body of the request.
func (h *Handler) importArchive(x *httpx.Exchange, res leader.Resolution) error {
	if h.Host == nil {
		return rest.NotConfigured("importing images")
	}
	q := x.Request.URL.Query()
	if err := checkHosts(q.Get("on")); err != nil {
		return err
	}
	imported, err := h.Host.Import(x.Context(), x.Request.Body, q.Get("name"))
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	views := []keptView{}
	for _, one := range imported {
		view, err := h.record(x, res, image.Image{Name: one.Name, Digest: one.Digest, Size: one.Size, Imported: true, Hosts: q.Get("on")})
		if err != nil {
			return err
		}
		views = append(views, view)
	}
	return reply(x, views)
}

// pin records an image of a registry.
func (h *Handler) pin(x *httpx.Exchange, res leader.Resolution) error {
	var in pinInput
	if err := wire.DecodeJSON(x.Body, &in, wire.Strict); err != nil {
		return err
	}
	name, err := blob.NormalizeName(in.Name)
	if err == nil {
		err = digest.Digest(in.Digest).Validate()
	}
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	if err := checkHosts(in.On); err != nil {
		return err
	}
	if in.Copies < 0 || in.Copies > image.MaxCopies {
		return wire.Errorf(wire.InvalidParameter, "copies must be 0 to %d, not %d.", image.MaxCopies, in.Copies)
	}
	known := image.Find(res.View, name)
	imported := known != nil && known.Imported
	if imported && known.Digest != in.Digest {
		return wire.Errorf(wire.InvalidParameter, "%s was imported and means %s here, not %s: `pinion image rm` ends that.", name, known.Digest, in.Digest)
	}
	view, err := h.record(x, res, image.Image{Name: name, Digest: in.Digest, Size: in.Size, Imported: imported, Hosts: in.On, Copies: in.Copies})
	if err != nil {
		return err
	}
	return reply(x, view)
}

func (h *Handler) record(x *httpx.Exchange, res leader.Resolution, kept image.Image) (view keptView, err error) {
	kept.At, kept.By = h.Now().UTC().Round(0), res.Principal.ARN
	if kept.Hosts == "" && kept.Copies == 0 {
		kept.Copies = image.DefaultCopies
	}
	if _, err := h.Store.Propose(x.Context(), raftfsm.Wrap(image.Put{Image: kept})); err != nil {
		return view, err
	}
	view.imageView = imageView{Name: kept.Name, Digest: kept.Digest, Size: kept.Size, Hosts: []string{}, Kept: &keptImage{Imported: kept.Imported, On: kept.Hosts, Copies: kept.Copies, At: kept.At, By: kept.By}}
	view.Keepers = []string{}
	for _, h := range kept.Keepers(res.View.Hosts(""), h.Store.Connected) {
		view.Keepers = append(view.Keepers, h.ID)
	}
	return view, nil
}

func (h *Handler) unpin(x *httpx.Exchange, _ leader.Resolution) error {
	var in pinInput
	if err := wire.DecodeJSON(x.Body, &in, wire.Strict); err != nil {
		return err
	}
	name, err := blob.NormalizeName(in.Name)
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	if _, err := h.Store.Propose(x.Context(), raftfsm.Wrap(image.Delete{Name: name})); err != nil {
		return err
	}
	return reply(x, struct{}{})
}

func checkHosts(expression string) error {
	if expression == "" {
		return nil
	}
	if err := image.CheckHosts(expression); err != nil {
		return wire.Errorf(wire.InvalidParameter, "on: %v.", err)
	}
	return nil
}

func reply(x *httpx.Exchange, v any) error {
	x.Reply(http.StatusOK, v)
	return nil
}
