package e2e

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// bucket is a server with the part of S3 that reads one bucket. It notes the requests that would change something.
type bucket struct {
	name    string
	objects map[string]string

	mu      sync.Mutex
	changes []string
}

// ServeHTTP answers as S3 does with the bucket in the path.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+b.name), "/")
	content, known := b.objects[key]
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		b.mu.Lock()
		b.changes = append(b.changes, r.Method+" "+r.URL.Path)
		b.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
	case !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDEXAMPLE/"):
		w.WriteHeader(http.StatusForbidden)
	case key == "":
		b.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
	case known:
		http.ServeContent(w, r, key, time.Unix(1, 0), strings.NewReader(content))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// list answers ListObjects.
func (b *bucket) list(w http.ResponseWriter, prefix, delimiter string) {
	type object struct {
		Key, LastModified, ETag string
		Size                    int
	}
	type common struct{ Prefix string }
	answer := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Name, Prefix   string
		IsTruncated    bool
		Contents       []object
		CommonPrefixes []common
	}{Name: b.name, Prefix: prefix}
	for key, content := range b.objects {
		rest, below := strings.CutPrefix(key, prefix)
		if !below {
			continue
		}
		if directory, _, deeper := strings.Cut(rest, delimiter); delimiter != "" && deeper {
			if found := (common{prefix + directory + delimiter}); !slices.Contains(answer.CommonPrefixes, found) {
				answer.CommonPrefixes = append(answer.CommonPrefixes, found)
			}
			continue
		}
		answer.Contents = append(answer.Contents, object{key, "1970-01-01T00:00:01.000Z", `"0"`, len(content)})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

// Tasks read a bucket of S3 that their host has mounted by s3fs, and nothing that root in a container does changes an object.
func TestADataSetInS3IsReadAndNeverWritten(t *testing.T) {
	served := &bucket{name: "data", objects: map[string]string{"llm/weights": "weights\n", "llm/config/model.json": "{}\n"}}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	login := filepath.Join(t.TempDir(), "login")
	must(t, os.WriteFile(login, []byte("AKIDEXAMPLE:secret\n"), 0o600))
	h := newHost(t, "--gpus", "none", "--file-system", "data=fuse.s3fs:data,ro,allow_other,use_path_request_style,url="+server.URL+",passwd_file="+login)
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	in := func(readOnly bool) object {
		more := mounting("", readOnly)
		more["volumes"] = []object{{"name": "v", "efsVolumeConfiguration": object{"fileSystemId": "data", "rootDirectory": "/llm"}}}
		return more
	}
	h.registerShell(t, "s3-writes", 0, "true", in(false))
	if failures := fmt.Sprint(h.mustCall(t, "RunTask", object{"taskDefinition": "s3-writes"})["failures"]); !strings.Contains(failures, "set readOnly in its mountPoints") {
		t.Errorf("a task that would write: %s", failures)
	}
	h.registerShell(t, "s3-reads", 0, `set -e
grep weights /v/weights
grep {} /v/config/model.json
for change in "touch /v/new" "rm /v/weights" "mkdir /v/directory" "mv /v/weights /v/other" "chmod 600 /v/weights" "truncate -s 0 /v/weights" "mount -o remount,rw /v"; do
	if $change; then echo "changed: $change"; exit 1; fi
done
if echo more >> /v/weights; then exit 1; fi`, in(true))
	id := h.runTask(t, "s3-reads")
	if task := h.waitStopped(t, id); task.at("containers", 0, "exitCode") != 0.0 {
		t.Errorf("the reader: %v\n%s", task, h.pinion(t, "logs", id))
	}
	served.mu.Lock()
	defer served.mu.Unlock()
	if len(served.changes) > 0 {
		t.Errorf("the bucket was asked for changes: %v", served.changes)
	}
}
