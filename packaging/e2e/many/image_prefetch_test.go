package many

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The first task of a service's next revision takes minutes to get healthy, so the second host keeps its old one. It has the image of the
// next one all the same.
func TestTheNextImageOfAServiceComesBeforeItsTurn(t *testing.T) {
	flags := func() []string { return []string{"--image-gc-high", "99", "--image-gc-low", "98"} }
	p := &imagePool{pool: newPool(t, flags(), flags()), sums: map[string]string{}}
	images := map[string]v1.Image{}
	for i, tag := range []string{"old", "new"} {
		images["big:"+tag], p.sums[tag], _ = randomImage(t, byte(i), 1, 1<<20)
	}
	p.registry = p.serveSlowImages(t, *imageLink, images)
	p.up(t)
	h := p.leader(t)
	out, err := p.sh(t, h, `set -e
register() { aws ecs register-task-definition --family big --container-definitions '[{"name":"main","image":"images.test/big:'$1'","memory":64,"stopTimeout":2,"command":["sleep","1000"]'"$2"'}]' >/dev/null; }
register old; register new ',"healthCheck":{"command":["CMD-SHELL","exit 1"],"startPeriod":300,"interval":60}'
aws ecs create-service --service-name big --task-definition big:1 --desired-count 2 --placement-constraints type=distinctInstance \
	--deployment-configuration minimumHealthyPercent=50,maximumPercent=100 >/dev/null`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hostsOf := func(tag string) int {
		digest, err := images["big:"+tag].Digest()
		must(t, err)
		hosts := map[string]bool{} // one has the image by its tag, the others have it by its digest
		for _, named := range []string{"images.test/big:" + tag, "images.test/big@" + digest.String()} {
			if found := p.image(t, h, named); found != nil {
				for _, host := range found.Hosts {
					hosts[host] = true
				}
			}
		}
		return len(hosts)
	}
	eventually(t, "the old revision is deployed, on both hosts", func() bool {
		state, err := p.sh(t, h, "aws ecs describe-services --services big --query 'services[0].deployments[0].rolloutState' --output text")
		return err == nil && strings.TrimSpace(state) == "COMPLETED" && hostsOf("old") == 2
	})
	if out, err := p.sh(t, h, "aws ecs update-service --service big --task-definition big:2"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually(t, "both hosts have the new image", func() bool { return hostsOf("new") == 2 })
	if old, next := p.running(t, "big:1"), p.running(t, "big:2"); old != 1 || next != 1 {
		t.Errorf("%d tasks of the old revision and %d of the new one run", old, next)
	}
}

// running is how many tasks of a task definition run.
func (p *imagePool) running(t *testing.T, definition string) (n int) {
	t.Helper()
	var listed struct{ TaskArns []string }
	p.mustCall(t, p.leader(t), "ListTasks", object{"serviceName": "big"}, &listed)
	if len(listed.TaskArns) == 0 {
		return 0
	}
	var described struct {
		Tasks []struct{ LastStatus, TaskDefinitionArn string }
	}
	p.mustCall(t, p.leader(t), "DescribeTasks", object{"tasks": listed.TaskArns}, &described)
	for _, one := range described.Tasks {
		if one.LastStatus == "RUNNING" && strings.HasSuffix(one.TaskDefinitionArn, "/"+definition) {
			n++
		}
	}
	return n
}
