package api

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/api/client"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
	"pinion/raftfsm/spec"
)

var imageDigest = "sha256:" + strings.Repeat("1", 64)

// fakeImageHost has images by their names, and imports what a body is.
type fakeImageHost struct {
	mu     sync.Mutex
	has    []string // digests
	hold   chan struct{}
	errors map[string]error // by what is done
	dryRun bool             // of the last Prune
}

func (h *fakeImageHost) Pull(_ context.Context, ref string, progress func(spec.Pull)) (blob.Image, error) {
	progress(spec.Pull{Image: ref, Done: 1, Total: 2})
	if h.hold != nil {
		<-h.hold
	}
	return blob.Image{Name: ref, Digest: imageDigest}, h.errors["pull"]
}

func (h *fakeImageHost) Import(_ context.Context, archive io.Reader, name string) ([]blob.Image, error) {
	if _, err := io.ReadAll(archive); err != nil {
		return nil, err
	}
	return []blob.Image{{Name: "docker.io/library/" + name, Digest: imageDigest, Size: 7}}, h.errors["import"]
}

func (h *fakeImageHost) Export(_ context.Context, name, digest string, to io.Writer) error {
	_, _ = io.WriteString(to, name+" "+digest)
	return h.errors["export"]
}

func (h *fakeImageHost) Push(context.Context, string, string, string, func(spec.Pull)) (bool, error) {
	return false, h.errors["push"]
}

func (h *fakeImageHost) Remove(_ context.Context, digest string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.has, digest) {
		return spec.ErrNotFound
	}
	return h.errors["remove"]
}

func (h *fakeImageHost) Prune(_ context.Context, dryRun bool) ([]blob.Image, error) {
	h.dryRun = dryRun
	return []blob.Image{{Name: "docker.io/library/old:1", Size: 3}}, nil
}

// heldImages are the images of the pool.
type heldImages []blob.HeldImage

func (h heldImages) Images() ([]blob.HeldImage, error) { return h, nil }

func newImageHost() *fakeImageHost {
	return &fakeImageHost{has: []string{imageDigest}, errors: map[string]error{}}
}

// newImagesFixture is a host that is alone, with images.
func newImagesFixture(t testing.TB) *fixture {
	b := ready(t)
	b.config.Shared = NewShared()
	return b
}

func TestImagesOfThePool(t *testing.T) {
	b := newImagesFixture(t)
	other := "sha256:" + strings.Repeat("2", 64)
	b.config.Admin.Images = heldImages{
		{Image: blob.Image{Name: "docker.io/library/app:1", Digest: imageDigest, Size: 7}, Hosts: []string{hostID, "gone"}},
		{Image: blob.Image{Name: "docker.io/library/none@" + other, Digest: other}, Hosts: []string{hostID}},
		{Image: blob.Image{Name: "docker.io/library/app@" + imageDigest, Digest: imageDigest}, Hosts: []string{"gone", hostID}},
	}
	b.mustApply(t, raftfsm.Wrap(image.Put{Image: image.Image{Name: "docker.io/library/kept:1", Digest: imageDigest, Imported: true, Copies: 3}}))
	var got []client.Image
	b.serve(httptest.NewRequest("GET", "/v1/images", nil)).decode(t, &got)
	var names []string
	for _, i := range got {
		names = append(names, i.Name)
		if !slices.Equal(i.Hosts, []string{hostID}) {
			t.Errorf("%s is on %v", i.Name, i.Hosts)
		}
	}
	if want := []string{"docker.io/library/app:1", "docker.io/library/kept:1", "docker.io/library/none@" + other}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	if kept := got[1].Kept; kept == nil || !kept.Imported || got[0].Kept != nil {
		t.Errorf("%+v", got)
	}
}

// Whatever name a host says to have an image by, it says nothing of other hosts, from which a command would remove the image by that name.
func TestAHostsNameForAnImageCountsForItselfAlone(t *testing.T) {
	b := newImagesFixture(t)
	var hosts []string
	for _, c := range []string{"b", "c", "d"} {
		id := strings.Repeat(c, 32)
		b.mustApply(t, raftfsm.PutHost{Host: spec.Host{ID: id, Cluster: "default", Status: spec.HostActive}})
		hosts = append(hosts, id)
	}
	tagged, byDigest, lying := hosts[0], hosts[1], hosts[2]
	b.config.Admin.Images = heldImages{
		{Image: blob.Image{Name: "registry:5000/app:1", Digest: imageDigest}, Hosts: []string{tagged}},
		{Image: blob.Image{Name: "registry:5000/app@" + imageDigest, Digest: imageDigest}, Hosts: []string{byDigest}},
		{Image: blob.Image{Name: "pinion.invalid/upgrade:0", Digest: imageDigest}, Hosts: []string{lying}},
	}
	var got []client.Image
	b.serve(httptest.NewRequest("GET", "/v1/images", nil)).decode(t, &got)
	of := map[string][]string{}
	for _, i := range got {
		of[i.Name] = i.Hosts
	}
	if want := map[string][]string{"registry:5000/app:1": {tagged, byDigest}, "pinion.invalid/upgrade:0": {lying}}; !reflect.DeepEqual(of, want) {
		t.Errorf("%v", of)
	}
}

// Two clusters may have one image under names of their own: a key for one of them sees its own name alone, and not who keeps the image for the pool.
func TestAKeyForAClusterSeesImagesByTheNamesOfItsHosts(t *testing.T) {
	b := newImagesFixture(t)
	b.config.Trusted = false
	b.config.Admin.Images = heldImages{
		{Image: blob.Image{Name: "docker.io/library/app:1", Digest: imageDigest}, Hosts: []string{hostID}},
		{Image: blob.Image{Name: "registry/project-of-others:1", Digest: imageDigest}, Hosts: []string{"of-another-cluster"}},
	}
	b.mustApply(t, raftfsm.Wrap(image.Put{Image: image.Image{Name: "docker.io/library/kept:1", Digest: imageDigest, Hosts: "attribute:rack == 7", By: "AKIAOTHER"}}))
	key := b.withKey(t, accesskey.Key{ID: "AKIADEFAULT", Role: accesskey.RoleRead, Cluster: "default"})
	got := b.as(key, httptest.NewRequest("GET", "/v1/images", nil)).Body.String()
	for _, hidden := range []string{"project-of-others", "AKIAOTHER", "rack"} {
		if strings.Contains(got, hidden) {
			t.Errorf("it sees %q: %s", hidden, got)
		}
	}
	if !strings.Contains(got, "app:1") || !strings.Contains(got, "kept:1") {
		t.Errorf("it does not see its own: %s", got)
	}
}

// An import of any size is signed by its hash, also where another host leads and the image becomes that one's.
func TestAnArchiveIsImportedThroughAnyHost(t *testing.T) {
	p := newTwoHosts(t)
	p.leader.withKey(t, accesskey.Key{ID: "AKIAADMIN", Secret: "secret", Role: accesskey.RoleAdmin})
	follower := tlsServer(t, p.follower.Config.Handler)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: follower.Certificate().Raw})
	archive := strings.Repeat("an archive ", 1<<20) // larger than any body that is held
	c, err := client.New(client.Config{Host: follower.Listener.Addr().String(), KeyID: "AKIAADMIN", Secret: secret, CA: certificate})
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	imported, err := client.ImportImages(t.Context(), c, strings.NewReader(archive), int64(len(archive)), "app:1", "", func(n int) { sent += n })
	if err != nil || len(imported) != 1 || imported[0].Digest != imageDigest || sent != len(archive) {
		t.Fatalf("%+v, %v, %d bytes", imported, err, sent)
	}
	if kept := image.Find(p.leader.state.View(), "docker.io/library/app:1"); kept == nil || !kept.Imported || kept.By == "" {
		t.Errorf("%+v", kept)
	}
}

func TestWhatIsKeptIsChecked(t *testing.T) {
	b := newImagesFixture(t)
	for body, want := range map[string]int{
		`{"name":"app:1","digest":"` + imageDigest + `"}`:                               200,
		`{"name":"app:1","digest":"` + imageDigest + `","on":"attribute:rack == 7"}`:    200,
		`{"name":"app:1","digest":"` + imageDigest + `","on":"rack is 7"}`:              400,
		`{"name":"app:1","digest":"` + imageDigest + `","on":"runningTasksCount == 0"}`: 400,
		`{"name":"app:1","digest":"` + imageDigest + `","copies":-1}`:                   400,
		`{"name":"app:1","digest":"sha256:short"}`:                                      400,
		`{"name":"pinion/self","digest":"` + imageDigest + `"}`:                         400,
		`{"name":"app@` + imageDigest + `","digest":"` + imageDigest + `"}`:             400,
	} {
		if got := b.serve(httptest.NewRequest("POST", "/v1/admin/images/pin", strings.NewReader(body))); got.Code != want {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	b.mustApply(t, raftfsm.Wrap(image.Put{Image: image.Image{Name: "docker.io/library/mine:1", Digest: imageDigest, Imported: true, Copies: 3}}))
	if got := b.serve(httptest.NewRequest("POST", "/v1/admin/images/pin", strings.NewReader(`{"name":"mine:1","digest":"sha256:`+strings.Repeat("3", 64)+`"}`))); got.Code != 400 {
		t.Errorf("an imported name means something else now: %d %s", got.Code, got.Body)
	}
	if got := b.serve(httptest.NewRequest("POST", "/v1/admin/hosts/"+hostID+"/images/remove?digest="+imageDigest, nil)); got.Code != 400 {
		t.Errorf("an image that the pool keeps was removed: %d %s", got.Code, got.Body)
	}
	b.mustApply(t, raftfsm.Wrap(image.Delete{Name: "docker.io/library/mine:1"}))
	b.images.errors["import"] = errors.New("the archive cannot be imported")
	if got := b.serve(httptest.NewRequest("POST", "/v1/admin/images/import?name=bad", strings.NewReader("x"))); got.Code != 400 || image.Find(b.state.View(), "docker.io/library/bad") != nil {
		t.Errorf("a bad archive: %d %s", got.Code, got.Body)
	}
	if got := b.serve(httptest.NewRequest("POST", "/v1/admin/images/unpin", strings.NewReader(`{"name":"app:1"}`))); got.Code != 200 || len(image.All(b.state.View())) != 0 {
		t.Errorf("unpin: %d %s", got.Code, got.Body)
	}
	if got := b.serve(httptest.NewRequest("POST", "/v1/admin/images/unpin", strings.NewReader(`{"name":"app:1"}`))); got.Code != 400 {
		t.Errorf("unpin again: %d %s", got.Code, got.Body)
	}
}

func TestTransfersOfAHost(t *testing.T) {
	b := newImagesFixture(t)
	b.images.hold = make(chan struct{})
	path := "/v1/admin/hosts/" + hostID + "/images/"
	ask := func(method, what string) (got client.Transfer) {
		t.Helper()
		b.serve(httptest.NewRequest(method, path+what, nil)).decode(t, &got)
		return got
	}
	ask("POST", "pull?name=app:1")
	if got := ask("POST", "pull?name=app:1"); got.Ended { // the one that is under way
		t.Errorf("%+v", got)
	}
	close(b.images.hold)
	got := ask("GET", "transfer?name=app:1")
	for !got.Ended {
		got = ask("GET", "transfer?name=app:1")
	}
	if got.Digest != imageDigest || got.Error != "" || got.Total != 2 {
		t.Errorf("%+v", got)
	}
	b.images.errors["push"] = errors.New("no login")
	for got = ask("POST", "push?name=app:1&to=r/app:1"); !got.Ended; got = ask("GET", "transfer?name=app:1&to=r/app:1") {
	}
	if got.Error == "" {
		t.Errorf("%+v", got)
	}
	if got := b.serve(httptest.NewRequest("GET", path+"export?name=app&digest=d", nil)); got.Body.String() != "app d" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.serve(httptest.NewRequest("POST", path+"prune?dry-run=true", nil))
	if !b.images.dryRun {
		t.Error("a dry run was none")
	}
	for what, want := range map[string]int{"GET transfer?name=other": 404, "POST remove?digest=" + imageDigest: 200, "POST remove?digest=other": 404, "POST prune": 200, "POST prune?dry-run=1": 400} {
		method, rest, _ := strings.Cut(what, " ")
		if got := b.serve(httptest.NewRequest(method, path+rest, nil)); got.Code != want {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
}

// Images are the whole pool's: who changes them changes what all teams run.
func TestImagesAreChangedByAdministratorsOfThePoolAlone(t *testing.T) {
	b := newImagesFixture(t)
	b.config.Trusted = false
	b.config.Admin.Images = heldImages{{Image: blob.Image{Name: "docker.io/library/app:1", Digest: imageDigest}, Hosts: []string{hostID}}}
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	b.mustApply(t, raftfsm.Wrap(image.Put{Image: image.Image{Name: "docker.io/library/kept:1", Digest: "sha256:2", Imported: true, Copies: 3}}))
	onHost := "/v1/admin/hosts/" + hostID + "/images/"
	for name, key := range map[string]accesskey.Key{
		"a key that may read": {ID: "AKIAREAD", Role: accesskey.RoleRead}, "a key that may submit": {ID: "AKIASUBMIT", Role: accesskey.RoleSubmit},
		"an administrator of another cluster": {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"},
	} {
		bearer := b.withKey(t, key)
		for _, path := range []string{"/v1/admin/images/import?name=app:1", "/v1/admin/images/pin", "/v1/admin/images/unpin", onHost + "pull?name=a", onHost + "push?name=a&to=b", onHost + "remove?digest=" + imageDigest, onHost + "prune"} {
			if got := b.as(bearer, httptest.NewRequest("POST", path, strings.NewReader(`{"name":"kept:1"}`))); got.Code < 400 {
				t.Errorf("%s: %s: %d %s", name, path, got.Code, got.Body)
			}
		}
		if got := b.as(bearer, httptest.NewRequest("GET", onHost+"export?name=a&digest="+imageDigest, nil)); got.Code < 400 {
			t.Errorf("%s: export: %d", name, got.Code)
		}
	}
	if got := b.as(b.withKey(t, accesskey.Key{ID: "AKIALAB2", Role: accesskey.RoleRead, Cluster: "lab"}), httptest.NewRequest("GET", "/v1/images", nil)); got.Code != 200 || strings.Contains(got.Body.String(), "app") || strings.Contains(got.Body.String(), "kept") {
		t.Errorf("another cluster sees %s", got.Body)
	}
}
