package cli

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const appDigest = "sha256:0123456789abcdef"

// onFirstHost is a request to the first host about its images.
func onFirstHost(what, key, value string) string {
	return "admin/hosts/aaa/images/" + what + "?" + url.Values{key: {value}}.Encode()
}

// newImagesHost is a host of a pool of two, the first of which has an image.
func newImagesHost(t *testing.T) *fakeHost {
	t.Helper()
	h := newFakeHost(t)
	h.documents["/v1/images"] = serveDocument([]map[string]any{
		{"name": "docker.io/library/app:1", "digest": appDigest, "size": 3 << 30, "hosts": []string{"aaa"}},
		{"name": "docker.io/vllm/vllm-openai:v0.8", "digest": "sha256:fedcba9876543210", "size": 9 << 30, "hosts": []string{"aaa", "bbb"}, "kept": map[string]any{"copies": 3}},
		{"name": "registry.lab:5000/x:2", "digest": "sha256:aaaaaaaaaaaaaaaa", "size": 5, "hosts": []string{}, "kept": map[string]any{"imported": true, "on": "attribute:rack == 7"}},
	})
	h.documents["/v1/hosts"] = serveDocument([]map[string]any{{"id": "aaa", "name": "gpu-1", "connected": true}, {"id": "bbb", "name": "gpu-2", "connected": false}})
	for _, name := range []string{"app:1", "app:2", "docker.io/library/app:1@" + appDigest, "docker.io/library/app:3@" + appDigest} {
		h.operations[onFirstHost("pull", "name", name)] = always(map[string]any{"ended": true, "digest": appDigest})
	}
	h.operations[onFirstHost("remove", "digest", "sha256:fedcba9876543210")] = always(map[string]any{})
	h.operations["admin/images/unpin"] = always(map[string]any{})
	h.operations["admin/images/pin"] = func(in map[string]any) any {
		return map[string]any{"name": "docker.io/library/" + in["name"].(string), "digest": in["digest"], "keepers": []string{"aaa", "bbb"}}
	}
	return h
}

func TestImagesAreListed(t *testing.T) {
	h := newImagesHost(t)
	got := pinion(t, h, "image", "ls", "-q")
	checkEqual(t, "names", got.out, "docker.io/library/app:1\ndocker.io/vllm/vllm-openai:v0.8\nregistry.lab:5000/x:2\n")
	got = pinion(t, h, "image", "ls", "--filter", "kept=pinned*")
	if lines := strings.Split(strings.TrimSpace(got.out), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "vllm/vllm-openai:v0.8") {
		t.Errorf("%s%s", got.out, got.err)
	}
}

func TestImagesArePruned(t *testing.T) {
	h := newImagesHost(t)
	would, done := onFirstHost("prune", "dry-run", "true"), "admin/hosts/aaa/images/prune"
	for _, path := range []string{would, done} {
		h.operations[path] = always([]map[string]any{{"name": "docker.io/library/app:1", "size": 3 << 30}})
	}
	if got := pinion(t, h, "image", "prune", "--on-host", "gpu-1", "--dry-run"); got.out != "would remove 1 image, 3.0 GiB\n" || !strings.Contains(got.err, "nothing was changed") || h.callCount(done) != 0 {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "image", "prune", "--on-host", "gpu-1"); got.out != "removed 1 image, 3.0 GiB\n" || h.callCount(would) != 1 || h.callCount(done) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAnImageIsPulledOnTheHostsThatAreThere(t *testing.T) {
	h := newImagesHost(t)
	got := pinion(t, h, "image", "pull", "app:2")
	if got.code != 0 || !strings.Contains(got.err, "gpu-1: done") || !strings.Contains(got.err, "gpu-2 is away") {
		t.Errorf("%+v", got)
	}
	h.operations[onFirstHost("pull", "name", "app:2")] = func(map[string]any) any {
		return map[string]any{"ended": true, "error": "the registry has no such image"}
	}
	if got := pinion(t, h, "image", "pull", "app:2", "--on-host", "gpu-1"); got.code == 0 || !strings.Contains(got.err, "gpu-1: the registry has no such image") {
		t.Errorf("%+v", got)
	}
	for _, wrong := range [][]string{{"pull"}, {"pull", "a", "b"}, {"pull", "a", "--on", "x", "--on-host", "y"}, {"push", "a"}, {"export", "app:1"}, {"prune", "a"}, {"pin", "a", "--copies", "0"}} {
		if got := pinion(t, h, append([]string{"image"}, wrong...)...); got.code != 2 {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
}

func TestAnImageIsPinnedToTheDigestThatAHostPulled(t *testing.T) {
	h := newImagesHost(t)
	got := pinion(t, h, "image", "pin", "app:1")
	checkEqual(t, "pinned", got.out, "app:1\n")
	if body := h.body(t, "admin/images/pin"); body["digest"] != appDigest || body["name"] != "app:1" {
		t.Errorf("%v", body)
	}
	if !strings.Contains(got.err, "1 of the 2 hosts") {
		t.Errorf("%s", got.err)
	}
}

func TestAnImageIsRemoved(t *testing.T) {
	h := newImagesHost(t)
	if got := pinion(t, h, "image", "rm", "vllm/vllm-openai:v0.8", "--on-host", "gpu-1"); got.code == 0 {
		t.Errorf("an image that the pool keeps was removed from one host, which pulls it again: %+v", got)
	}
	got := pinion(t, h, "image", "rm", "vllm/vllm-openai:v0.8")
	checkEqual(t, "removed", got.out, "vllm/vllm-openai:v0.8\n")
	h.body(t, "admin/images/unpin") // asked for
	h.operations[onFirstHost("remove", "digest", appDigest)] = func(map[string]any) any {
		return errorReply{http.StatusBadRequest, "InvalidParameterException", "in use: a container of a task is made of it"}
	}
	if got := pinion(t, h, "image", "rm", "app:1"); got.code == 0 || !strings.Contains(got.err, "gpu-1: ") {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "image", "rm", "nothing:1"); got.code == 0 {
		t.Errorf("%+v", got)
	}
	if got := pinion(t, h, "image", "unpin", "registry.lab:5000/x:2"); got.code == 0 {
		t.Errorf("an image that nobody else has was let go: %+v", got)
	}
}

// An image that was imported has no registry, and may have two names.
func TestWhatIsImportedIsPulledByItsDigestAndRemovedWithItsLastName(t *testing.T) {
	h := newImagesHost(t)
	h.operations[onFirstHost("pull", "name", "registry.lab:5000/x:2@sha256:aaaaaaaaaaaaaaaa")] = always(map[string]any{"ended": true})
	if got := pinion(t, h, "image", "pull", "registry.lab:5000/x:2"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	kept := map[string]any{"imported": true, "copies": 3}
	h.documents["/v1/images"] = serveDocument([]map[string]any{
		{"name": "docker.io/library/two:1", "digest": appDigest, "hosts": []string{"aaa"}, "kept": kept}, {"name": "docker.io/library/two:2", "digest": appDigest, "hosts": []string{"aaa"}, "kept": kept},
	})
	if got := pinion(t, h, "image", "rm", "two:1"); got.code != 0 || !strings.Contains(got.err, "two:2") || h.callCount(onFirstHost("remove", "digest", appDigest)) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnArchiveIsImportedAndExported(t *testing.T) {
	h := newImagesHost(t)
	h.operations["admin/images/import?name=app%3A3"] = func(map[string]any) any {
		return []map[string]any{{"name": "docker.io/library/app:3", "digest": appDigest, "keepers": []string{"aaa"}}}
	}
	h.documents["/v1/admin/hosts/aaa/images/export?"+url.Values{"digest": {appDigest}, "name": {"docker.io/library/app:1"}}.Encode()] = func(w http.ResponseWriter) any {
		_, _ = w.Write([]byte("an archive"))
		return nil
	}
	archive := filepath.Join(t.TempDir(), "app.tar")
	if err := os.WriteFile(archive, []byte(`{"archive":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := pinion(t, h, "image", "import", archive, "--name", "app:3")
	checkEqual(t, "imported", got.out, "app:3\n")
	for _, missing := range []string{archive + ".not", t.TempDir()} {
		if got := pinion(t, h, "image", "import", missing); got.code == 0 {
			t.Errorf("%+v", got)
		}
	}
	out := filepath.Join(t.TempDir(), "out.tar")
	if got := pinion(t, h, "image", "export", "app:1", out); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "an archive" {
		t.Errorf("%q, %v", text, err)
	}
}
