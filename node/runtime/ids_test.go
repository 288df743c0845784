package runtime

import (
	"regexp"
	"strings"
	"testing"
)

// accepted is containerd's own rule for ids.
var accepted = regexp.MustCompile(`^[A-Za-z0-9]+(?:[._-](?:[A-Za-z0-9]+))*$`)

func TestContainerIDsAreAcceptedAndDiffer(t *testing.T) {
	const task = "0123456789abcdef0123456789abcdef"
	seen := map[string]string{}
	for _, name := range []string{
		"main", "main-2", "main_2", "a", "-a", "a-", "a--b", "a_-b", "_", strings.Repeat("x", 43), strings.Repeat("x", 44), strings.Repeat("x", 255), "x" + strings.Repeat("-", 60),
	} {
		id := ContainerID(task, name)
		if len(id) > 76 || !accepted.MatchString(id) {
			t.Errorf("%q gives %q, which containerd refuses", name, id)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q have the same id", name, other)
		}
		seen[id] = name
		if id != ContainerID(task, name) || id == ContainerID("f"+task[1:], name) {
			t.Errorf("id of %q does not depend on task and name alone", name)
		}
	}
	if got := ContainerID(task, "main"); got != task+".main" {
		t.Errorf("plain name gives %q", got)
	}
}
