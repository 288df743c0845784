package many

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd/containerdtest"
)

// movingTag is what hosts ask the registry for when they resolve the image "moving".
const movingTag = "/library/moving/manifests/latest"

// moveTag has the tag of the image "moving" name another version each time that it is resolved.
func moveTag(registry http.Handler) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before, ok := strings.CutSuffix(r.URL.Path, movingTag); ok {
			r.URL.Path = fmt.Sprintf("%s/library/moving/manifests/v%d", before, asked.Add(1)%2)
		}
		registry.ServeHTTP(w, r)
	})
}

func versionImage(t *testing.T, base v1.Image, version string) v1.Image {
	t.Helper()
	return containerdtest.Configured(t, base, func(c *v1.ConfigFile) { c.Config.Env = append(c.Config.Env, "VERSION="+version) })
}

// testOneDigestPerRun runs a gang on four hosts, each of which finds another version of the image than the one before.
func (p *pool) testOneDigestPerRun(t *testing.T) {
	h := p.leader(t)
	run := `pinion --data-dir "$0" run --gang --count 8 --gpus 1 --memory 32m --volume %s:/w --name moving moving -- sh -c 'echo "$VERSION" >/w/version-$RANK'`
	if out, err := p.sh(t, h, fmt.Sprintf(run, p.witness)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	digests, versions := map[string]int{}, map[string]int{}
	described := aws[struct {
		Tasks []struct {
			Containers []struct{ ImageDigest string }
		}
	}](t, p, h, `aws ecs describe-tasks --tasks $(aws ecs list-tasks --family run-moving --desired-status STOPPED --query taskArns --output text)`)
	for _, task := range described.Tasks {
		digests[task.Containers[0].ImageDigest]++
	}
	for rank := range 8 {
		version, err := os.ReadFile(filepath.Join(p.witness, fmt.Sprintf("version-%d", rank)))
		must(t, err)
		versions[string(version)]++
	}
	if len(digests) != 1 || len(versions) != 1 || len(described.Tasks) != 8 {
		t.Errorf("the tasks of one run have the digests %v and the versions %v", digests, versions)
	}
}
