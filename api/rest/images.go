package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
)

// PoolImages knows the images of the pool. It is asked on the leader only.
type PoolImages interface {
	// Images lists the images that hosts have, as they say.
	Images() ([]blob.HeldImage, error)
}

// images serves the images of the pool and of its hosts.
type images struct{ api *API }

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

func (i images) routes() []Route {
	const onHost = "/v1/admin/hosts/{id}/images/"
	const get, post = http.MethodGet, http.MethodPost
	const admin = accesskey.RoleAdmin
	name, byDigest, to := Parameter{"name", "of the image"}, Parameter{"digest", "of the image"}, Parameter{"to", "name in the registry"}
	pulled := reflect.TypeFor[transferView]()
	return []Route{
		{Method: get, Path: "/v1/images", Role: accesskey.RoleRead, Scope: perResource, Summary: "the images that hosts have, and those that the pool keeps",
			Out: reflect.TypeFor[[]imageView](), List: true, Serve: i.list},
		{Method: post, Path: "/v1/admin/images/import", Role: admin, Scope: poolWide, Summary: "takes an archive of `docker save`, or of an OCI image layout, as its body: the pool keeps its images",
			Query: []Parameter{{"name", "for the one image of the archive"}, {"on", "expression of the cluster query language: hosts that keep it"}}, Out: reflect.TypeFor[[]keptView](), Upload: true, Serve: i.importArchive},
		{Method: post, Path: "/v1/admin/images/pin", Role: admin, Scope: poolWide, Summary: "has hosts keep an image",
			In: reflect.TypeFor[pinInput](), Out: reflect.TypeFor[keptView](), Serve: i.pin},
		{Method: post, Path: "/v1/admin/images/unpin", Role: admin, Scope: poolWide, Summary: "ends that hosts keep an image",
			In: reflect.TypeFor[pinInput](), Out: reflect.TypeFor[struct{}](), Serve: i.unpin},
		{Method: post, Path: onHost + "pull", Role: admin, Scope: poolWide, Summary: "has a host pull an image", Query: []Parameter{name}, Out: pulled, Serve: i.onHost(i.pull), Host: i.serveLocal(i.pull)},
		{Method: post, Path: onHost + "push", Role: admin, Scope: poolWide, Summary: "has a host push an image to a registry", Query: []Parameter{name, byDigest, to}, Out: pulled, Serve: i.onHost(i.push), Host: i.serveLocal(i.push)},
		{Method: get, Path: onHost + "transfer", Role: admin, Scope: poolWide, Summary: "how far a pull or, with to, a push is that a host was asked for", Query: []Parameter{name, to}, Out: pulled, Serve: i.onHost(i.transfer), Host: i.serveLocal(i.transfer)},
		{Method: post, Path: onHost + "remove", Role: admin, Scope: poolWide, Summary: "removes an image from a host", Query: []Parameter{byDigest}, Out: reflect.TypeFor[struct{}](), Serve: i.unlessKept(i.onHost(i.remove)), Host: i.serveLocal(i.remove)},
		{Method: post, Path: onHost + "prune", Role: admin, Scope: poolWide, Summary: "removes all images from a host that nothing needs there", Query: []Parameter{{"dry-run", "true: says which these are, and removes none"}}, Out: reflect.TypeFor[[]imageView](), Serve: i.onHost(i.prune), Host: i.serveLocal(i.prune)},
		{Method: get, Path: onHost + "export", Role: admin, Scope: poolWide, Summary: "an image as an archive, which `docker load` reads", Query: []Parameter{name, byDigest}, Stream: true, Serve: i.onHost(i.export), Host: i.serveLocal(i.export)},
	}
}

// onHost makes a handler of what the host {id} itself answers about its images.
func (i images) onHost(answer HostHandler) Handler {
	return OnHost(i.api, "Try again when it is back.", i.serveLocal(answer))
}

// unlessKept refuses what would remove an image that the pool keeps, under whatever name.
func (i images) unlessKept(next Handler) Handler {
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
func (i images) list(x *httpx.Exchange, res leader.Resolution) error {
	held, err := i.held()
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

func (i images) held() ([]blob.HeldImage, error) {
	if i.api.Admin.Images == nil {
		return nil, errNotConfigured("listing the images of a pool")
	}
	return i.api.Admin.Images.Images()
}

// merge puts together what hosts have with what the pool keeps. A host that has an image only by its digest counts for every name of that.
func merge(held []blob.HeldImage, kept []*image.Image) (views []imageView) {
	byDigest := map[string][]string{}
	for _, h := range held {
		byDigest[h.Digest] = append(byDigest[h.Digest], h.Hosts...)
	}
	named := map[string]bool{} // digests with a tag
	indexes := map[[2]string]int{}
	add := func(name, digest string, size int64) *imageView {
		at, known := indexes[[2]string{name, digest}]
		if !known {
			at = len(views)
			indexes[[2]string{name, digest}] = at
			views = append(views, imageView{Name: name, Digest: digest, Size: size, Hosts: slices.Compact(slices.Sorted(slices.Values(byDigest[digest])))})
		}
		return &views[at]
	}
	for _, k := range kept {
		named[k.Digest] = true
		add(k.Name, k.Digest, k.Size).Kept = &keptImage{Imported: k.Imported, On: k.Hosts, Copies: k.Copies, At: k.At, By: k.By}
	}
	for _, h := range held {
		if !strings.Contains(h.Name, "@") {
			named[h.Digest] = true
			add(h.Name, h.Digest, h.Size)
		}
	}
	for _, h := range held {
		if !named[h.Digest] {
			add(h.Name, h.Digest, h.Size)
		}
	}
	slices.SortFunc(views, func(a, b imageView) int { return strings.Compare(a.Name+" "+a.Digest, b.Name+" "+b.Digest) })
	return views
}

// importArchive takes an archive as the body of the request.
func (i images) importArchive(x *httpx.Exchange, res leader.Resolution) error {
	if i.api.Agent.Images == nil {
		return errNotConfigured("importing images")
	}
	q := x.Request.URL.Query()
	if err := checkHosts(q.Get("on")); err != nil {
		return err
	}
	imported, err := i.api.Agent.Images.Import(x.Context(), x.Request.Body, q.Get("name"))
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	views := []keptView{}
	for _, one := range imported {
		view, err := i.record(x, res, image.Image{Name: one.Name, Digest: one.Digest, Size: one.Size, Imported: true, Hosts: q.Get("on")})
		if err != nil {
			return err
		}
		views = append(views, view)
	}
	return reply(x, views)
}

// pin records an image of a registry.
func (i images) pin(x *httpx.Exchange, res leader.Resolution) error {
	var in pinInput
	if err := decode(x, &in); err != nil {
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
	view, err := i.record(x, res, image.Image{Name: name, Digest: in.Digest, Size: in.Size, Imported: imported, Hosts: in.On, Copies: in.Copies})
	if err != nil {
		return err
	}
	return reply(x, view)
}

func (i images) record(x *httpx.Exchange, res leader.Resolution, kept image.Image) (view keptView, err error) {
	kept.At, kept.By = i.api.Now().UTC().Round(0), res.Principal.ARN
	if kept.Hosts == "" && kept.Copies == 0 {
		kept.Copies = image.DefaultCopies
	}
	if _, err := i.api.Store.Propose(x.Context(), raftfsm.Wrap(image.Put{Image: kept})); err != nil {
		return view, err
	}
	view.imageView = imageView{Name: kept.Name, Digest: kept.Digest, Size: kept.Size, Hosts: []string{}, Kept: &keptImage{Imported: kept.Imported, On: kept.Hosts, Copies: kept.Copies, At: kept.At, By: kept.By}}
	view.Keepers = []string{}
	for _, h := range kept.Keepers(res.View.Hosts(""), i.api.Store.Connected) {
		view.Keepers = append(view.Keepers, h.ID)
	}
	return view, nil
}

func (i images) unpin(x *httpx.Exchange, _ leader.Resolution) error {
	var in pinInput
	if err := decode(x, &in); err != nil {
		return err
	}
	name, err := blob.NormalizeName(in.Name)
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	if _, err := i.api.Store.Propose(x.Context(), raftfsm.Wrap(image.Delete{Name: name})); err != nil {
		return err
	}
	return ok(x)
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
